import type { Hooks, Journal } from "../../ports/index.ts";
import type { AgentId, EventOf, Line, RunEnd, RunId } from "../../protocol/index.ts";
import { hookLines, withoutContext } from "../host/ask-hooks.ts";
import { endFacts } from "../host/run-hooks.ts";
import { type AgentRecord, endIn } from "./agent-record.ts";

/** Those that an agent of this type has now: its definition's with everybody's. */
export type HooksOf = (agentType: string) => Promise<Hooks | undefined>;

/** Tells hooks of the ends that an earlier process did not live to tell them of. The runs have their ends by now. */
export async function tellOfLostRuns(
  agents: readonly Pick<AgentRecord, "agentId" | "agentType">[],
  hooksOf: HooksOf,
  journal: Journal,
): Promise<void> {
  for (const { agentId, agentType } of agents) {
    const hooks = await hooksOf(agentType);
    if (!hooks?.has("SubagentStop")) continue;
    const lines = await journal.read(agentId);
    for (const end of untold(lines)) await tell(end, lines, { agentId, hooks, journal });
  }
}

/** Those whose beginning hooks were told of, and not their end. */
function untold(lines: readonly Line[]): readonly RunEnd[] {
  const told = (event: string, runId: RunId): boolean =>
    lines.some((line) => line.type === "hooks.started" && line.event === event && line.runId === runId);
  const runs = lines.flatMap((line) => (line.type === "run.started" ? [line.runId] : []));
  return runs
    .filter((runId) => told("SubagentStart", runId) && !told("SubagentStop", runId))
    .flatMap((runId) => endIn(lines, runId) ?? []);
}

interface Told {
  readonly agentId: AgentId;
  readonly hooks: Hooks;
  readonly journal: Journal;
}

async function tell(end: RunEnd, lines: readonly Line[], { agentId, hooks, journal }: Told): Promise<void> {
  const { runId } = end;
  const created = lines.find((line): line is Line & EventOf<"agent.created"> => line.type === "agent.created");
  const started = lines.find(
    (line): line is Line & EventOf<"run.started"> => line.type === "run.started" && line.runId === runId,
  );
  if (created === undefined || started === undefined) return;
  const { agentType, parent, depth, cwd } = created;
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
