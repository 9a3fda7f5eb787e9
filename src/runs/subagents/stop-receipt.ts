import type { AgentId, RunId } from "../../protocol/index.ts";
import type { Subagent } from "./subagent.ts";

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

/** Returns which of the working agents `stop` has stopped. */
export async function stopWithReceipt(
  working: readonly Subagent[],
  stop: () => Promise<unknown>,
): Promise<StopReceipt> {
  const begun = working.map((subagent) => ({ subagent, runId: subagent.runId }));
  await stop();
  return {
    stopped: begun.flatMap(({ subagent, runId }) => {
      const { end } = subagent;
      return end?.runId === runId && end.outcome === "stopped" ? [{ ...runOf(subagent), runId, turns: end.turns }] : [];
    }),
    goesOn: working.filter(({ running }) => running !== undefined).map(runOf),
  };
}

function runOf({ agentId, agentType, description, runId }: Subagent): WorkingRun {
  return { agentId, agentType, description, runId };
}
