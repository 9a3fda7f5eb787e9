import type { AgentId, RunId } from "../../protocol/index.ts";
import type { Member } from "./member.ts";

/** What came of a stop, and what it left alone. */
export interface StopReceipt {
  readonly stopped: readonly StoppedRun[];
  /** Who still works: each would need a stop of its own. */
  readonly goesOn: readonly WorkingRun[];
}

export interface WorkingRun {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Absent for the main agent. */
  readonly description?: string;
  readonly runId: RunId;
}

/** What it did stays, and it can be resumed. */
export interface StoppedRun extends WorkingRun {
  readonly turns: number;
}

/** Who of those that work is stopped by this, once all of it has come to its end. */
export async function stopWithReceipt(working: readonly Member[], stop: () => Promise<unknown>): Promise<StopReceipt> {
  const begun = working.map((member) => ({ member, runId: member.record.runId }));
  await stop();
  return {
    stopped: begun.flatMap(({ member: { record }, runId }) =>
      record.end?.runId === runId && record.end.outcome === "stopped"
        ? [{ ...named(record), runId, turns: record.end.turns }]
        : [],
    ),
    goesOn: working.flatMap(({ record, running }) =>
      running === undefined ? [] : [{ ...named(record), runId: record.runId }],
    ),
  };
}

function named({ agentId, agentType, description }: Member["record"]): Omit<WorkingRun, "runId"> {
  return { agentId, agentType, description };
}
