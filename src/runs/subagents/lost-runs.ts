import type { Hooks, Journal } from "../../ports/index.ts";
import type { AgentId, EventOf, Line, RunEnd, RunId } from "../../protocol/index.ts";
import { type Spending, spendingIn } from "../budget/spending.ts";
import { hookLines, withoutContext } from "../host/ask-hooks.ts";
import { endFacts } from "../host/run-hooks.ts";
import { endOf } from "./subagent.ts";

/** What the transcript of a subagent says of its runs in earlier processes. */
export interface EarlierRuns {
  readonly agentId: AgentId;
  readonly spending: Spending;
  /** Ends that hooks were not told of, although they were told of the beginning. */
  readonly untold: readonly UntoldEnd[];
}

interface UntoldEnd {
  readonly end: RunEnd;
  readonly created: EventOf<"agent.created">;
  readonly started: EventOf<"run.started">;
}

export function earlierRuns(agentId: AgentId, lines: readonly Line[]): EarlierRuns {
  const created = lines.find((line): line is Line & EventOf<"agent.created"> => line.type === "agent.created");
  const told = (event: string, runId: RunId): boolean =>
    lines.some((line) => line.type === "hooks.started" && line.event === event && line.runId === runId);
  const untold = lines.flatMap((line): readonly UntoldEnd[] => {
    if (created === undefined || line.type !== "run.started") return [];
    const { runId } = line;
    const end = told("SubagentStart", runId) && !told("SubagentStop", runId) ? endOf(lines, runId) : undefined;
    return end ? [{ end, created, started: line }] : [];
  });
  return { agentId, spending: spendingIn(lines), untold };
}

/** Returns the hooks that an agent of this type has now. */
export type HooksOf = (agentType: string) => Promise<Hooks | undefined>;

/** Tells hooks of the ends that an earlier process did not live to tell them of. */
export async function tellOfLostRuns(
  agents: readonly EarlierRuns[],
  hooksOf: HooksOf,
  journal: Journal,
): Promise<void> {
  for (const { untold } of agents) for (const each of untold) await tell(each, hooksOf, journal);
}

async function tell({ end, created, started }: UntoldEnd, hooksOf: HooksOf, journal: Journal): Promise<void> {
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
  const told = hookLines({ event: "SubagentStop", runId }, withoutContext(outcome));
  if (told.length > 0) await journal.append(agentId, told);
}
