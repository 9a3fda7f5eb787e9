import { hasWaitingWork, lastRunEnd, readSession, type Session } from "../../app/index.ts";
import { createId } from "../../lib/index.ts";
import { type AgentId, type AgentInfo, type Line, MAIN_AGENT, type SessionId } from "../../protocol/index.ts";
import { SessionAgents } from "./session-agents.ts";

interface UnfinishedSession {
  readonly home: string;
  readonly id: SessionId;
  /** Path of the main agent's transcript. */
  readonly path: string;
}

/** Agents of a session that were working when their process ended, and that have to be told to go on. */
export interface Unfinished {
  /** Whether the main agent was working or has prompts to work on. */
  readonly main: boolean;
  /** Background agents that were working. The agents that they wait for go on with them. */
  readonly background: readonly AgentId[];
}

/** Finds out from the files of a session which agents have to go on. */
export async function findUnfinished({ home, id, path }: UnfinishedSession): Promise<Unfinished> {
  const files = readSession(path);
  const agents = await new SessionAgents(path).list();
  const unfinished: AgentInfo[] = [];
  const inBackground = new Set<AgentId>();
  for (const agent of agents) {
    const lines = await files.read(agent.agentId);
    if (!isUnfinished(lines.findLast(({ type }) => type === "run.started" || type === "run.ended"))) continue;
    unfinished.push(agent);
    if (isInBackground(lines)) inBackground.add(agent.agentId);
  }
  // An agent that another one waits for goes on with that one.
  const tops = unfinished.filter(({ agentId }) => inBackground.has(agentId));
  const main = isUnfinished(lastRunEnd(path) ?? { type: "run.started" }) || hasWaitingWork({ home, sessionId: id });
  return { main, background: tops.map(({ agentId }) => agentId) };
}

function isUnfinished(last: Pick<Line, "type"> | undefined): boolean {
  if (last === undefined) return false;
  return last.type === "run.started" || (last as { readonly reason?: string }).reason === "parked";
}

/** Returns whether the last run of an agent was in the background. */
function isInBackground(lines: readonly Line[]): boolean {
  const from = lines.findLastIndex(({ type }) => type === "run.started");
  return lines
    .slice(from)
    .some((line) => (line.type === "run.started" && line.background === true) || line.type === "run.backgrounded");
}

/** Lets the agents of a session that has been resumed go on. Returns messages about those that can't. */
export async function continueSession(session: Session, { main, background }: Unfinished): Promise<readonly string[]> {
  const problems: string[] = [];
  // Background agents come first, so that the main agent finds them at work.
  for (const agent of [...background, ...(main ? [MAIN_AGENT] : [])]) {
    const { status, message } = await session.send({ id: createId("command_"), type: "resume", agent });
    if (status === "refused") problems.push(message);
  }
  return problems;
}
