import { type AgentView, agentOf, foldSession, inTreeOrder, newSessionView } from "../../client/index.ts";
import { type AgentId, type Line, MAIN_AGENT, noUsage, type RunUpdate } from "../../protocol/index.ts";

/** The agents of a run, computed from its updates. */
export interface AgentViews {
  observe(update: RunUpdate): void;
  /**
   * Sets how to read the transcript of an agent that was created in an earlier process, so that its updates do not say
   * what it works on.
   */
  readEarlier(linesOf: LinesOf): void;
  /** Undefined before the first update. */
  readonly main: AgentView | undefined;
  get(agentId: AgentId): AgentView | undefined;
  /** Returns the subagents depth first, siblings in the order they started. */
  inOrder(): readonly AgentView[];
  /** Number of subagents. */
  readonly size: number;
}

type LinesOf = (agentId: AgentId) => readonly Line[];

interface AgentViewsOptions {
  /** Whether something shows what the main agent is doing. Otherwise, its view contains no responses and calls. */
  readonly showsMain?: boolean;
}

export function createAgentViews({ showsMain = true }: AgentViewsOptions = {}): AgentViews {
  // The command line prints messages and calls immediately, so the view need not keep them.
  let view = newSessionView({ keep: 0 });
  let hasMain = false;
  let linesOf: LinesOf | undefined;
  return {
    readEarlier: (read) => {
      linesOf = read;
    },
    observe: (update) => {
      const isKnown = !("agentId" in update) || agentOf(view, update.agentId) !== undefined;
      const earlier = isKnown || linesOf === undefined ? undefined : earlierAgent(update, linesOf);
      for (const line of earlier ?? []) view = foldSession(view, line);
      const isOwn = update.type !== "subagent.event";
      if (isOwn && !showsMain && !changesAgents.has(update.type)) return;
      hasMain ||= isOwn;
      view = foldSession(view, isOwn ? { agentId: MAIN_AGENT, event: update } : update);
    },
    get main() {
      return agentOf(view, MAIN_AGENT);
    },
    get: (agentId) => agentOf(view, agentId),
    inOrder: () => inTreeOrder(view).filter(({ agentId }) => agentId !== MAIN_AGENT),
    get size() {
      return view.agents.length - (hasMain ? 1 : 0);
    },
  };
}

/** Lines of the main agent that start, resume or end agents. */
const changesAgents: ReadonlySet<RunUpdate["type"]> = new Set([
  "agent.spawned",
  "agent.resumed",
  "notices.delivered",
  "run.started",
  "run.ended",
]);

/** Returns the task of the agent that an update resumes, and the facts about its earlier runs, without their costs. */
function earlierAgent(update: RunUpdate, linesOf: LinesOf): readonly AgentLine[] {
  if (update.type === "agent.resumed") return pastOf(update.agentId, linesOf(update.agentId));
  if (update.type !== "subagent.event") return [];
  const { agentId, event } = update;
  if (!("id" in event) || event.type === "agent.created") return [];
  return pastOf(
    agentId,
    linesOf(agentId).filter(({ id }) => Number(id) < Number(event.id)),
  );
}

interface AgentLine {
  readonly agentId: AgentId;
  readonly event: Line;
}

function pastOf(agentId: AgentId, lines: readonly Line[]): readonly AgentLine[] {
  return lines.flatMap((line): readonly AgentLine[] => {
    if (line.type === "agent.created" || line.type === "run.started") return [{ agentId, event: line }];
    if (line.type !== "run.ended") return [];
    const facts = { ...line.facts, toolCalls: {} };
    return [{ agentId, event: { ...line, turns: 0, usage: noUsage, costUsd: 0, facts } }];
  });
}
