import type { Hooks, Journal } from "../../ports/index.ts";
import type { AgentId, EventOf, Line, RunEnd, RunId, RunRef } from "../../protocol/index.ts";
import { type Spending, spendingIn } from "../budget/spending.ts";
import { hookLines, withoutContext } from "../host/ask-hooks.ts";
import { endFacts } from "../host/run-hooks.ts";
import { endOf } from "./subagent.ts";

/** A subagent's runs in earlier processes, read from its transcript. */
export interface EarlierRuns {
  readonly agentId: AgentId;
  readonly spending: Spending;
  /** Ends of runs for which SubagentStart hooks have run, but SubagentStop hooks have not. */
  readonly unreported: readonly UnreportedEnd[];
}

interface UnreportedEnd {
  readonly end: RunEnd;
  readonly created: EventOf<"agent.created">;
  readonly started: EventOf<"run.started">;
}

export function earlierRuns(agentId: AgentId, lines: readonly Line[]): EarlierRuns {
  const created = lines.find((line): line is Line & EventOf<"agent.created"> => line.type === "agent.created");
  const hasRun = (event: string, runId: RunId): boolean =>
    lines.some((line) => line.type === "hooks.started" && line.event === event && line.runId === runId);
  const unreported = lines.flatMap((line): readonly UnreportedEnd[] => {
    if (created === undefined || line.type !== "run.started") return [];
    const { runId } = line;
    const end = hasRun("SubagentStart", runId) && !hasRun("SubagentStop", runId) ? endOf(lines, runId) : undefined;
    return end ? [{ end, created, started: line }] : [];
  });
  return { agentId, spending: spendingIn(lines), unreported };
}

/** Returns an agent type's hooks. */
export type HooksOf = (agentType: string) => Promise<Hooks | undefined>;

/** Runs the SubagentStop hooks that an earlier process could not run. */
export async function reportLostRuns(
  agents: readonly EarlierRuns[],
  hooksOf: HooksOf,
  journal: Journal,
): Promise<void> {
  for (const { unreported } of agents) for (const each of unreported) await report(each, hooksOf, journal);
}

async function report({ end, created, started }: UnreportedEnd, hooksOf: HooksOf, journal: Journal): Promise<void> {
  const { agentId, agentType, parent, depth, cwd } = created;
  const { runId } = end;
  const hooks = await hooksOf(agentType);
  if (!hooks?.has("SubagentStop")) return;
  await journal.append(agentId, [{ type: "hooks.started", event: "SubagentStop", runId }]);
  const outcome = await hooks.run("SubagentStop", endFacts(end), {
    agentId,
    agentType,
    parent: parent.agentId,
    depth,
    cwd,
    permissionMode: started.permissionMode,
    signal: new AbortController().signal,
  });
  const events = hookLines({ event: "SubagentStop", runId }, withoutContext(outcome));
  if (events.length > 0) await journal.append(agentId, events);
}

/** Returns whether a run has begun and recorded its prompt. */
export async function hasPrompt(journal: Pick<Journal, "read">, { agentId, runId }: RunRef): Promise<boolean> {
  const lines = await journal.read(agentId);
  const from = lines.findIndex((line) => line.type === "run.started" && line.runId === runId);
  return from !== -1 && lines.slice(from).some(({ type }) => type === "prompt.received");
}

/** Returns the run that the parent's transcript announced for an agent, if the process ended before that run began. */
export async function announcedRun(
  journal: Pick<Journal, "read">,
  { parent, agentId }: { readonly parent: AgentId; readonly agentId: AgentId },
): Promise<RunId | undefined> {
  const isAnnounced = (line: Line): boolean =>
    line.type === "agent.resumed" && line.agentId === agentId && line.callId === undefined;
  const announced = (await journal.read(parent)).findLast(isAnnounced);
  if (announced?.type !== "agent.resumed") return undefined;
  const { runId } = announced;
  const own = await journal.read(agentId);
  return own.some((line) => line.type === "run.started" && line.runId === runId) ? undefined : runId;
}
