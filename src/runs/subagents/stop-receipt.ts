import type { AgentId, RunId } from "../../protocol/index.ts";
import type { Subagent } from "./subagent.ts";

/** Result of stopping agents. */
export interface StopReceipt {
  readonly stopped: readonly StoppedRun[];
  /** Agents that are still running. Each must be stopped separately. */
  readonly stillRunning: readonly WorkingRun[];
}

export interface WorkingRun {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Name that the agent's parent gave it. */
  readonly name?: string | undefined;
  /** Absent for the main agent. */
  readonly description?: string;
  readonly runId: RunId;
}

/** A stopped run. The agent's work is kept, and the agent can be resumed. */
export interface StoppedRun extends WorkingRun {
  readonly turns: number;
}

/** Calls `stop`, then returns which agents it stopped and which are still running. */
export async function stopWithReceipt(
  working: readonly Subagent[],
  stop: () => Promise<unknown>,
): Promise<StopReceipt> {
  const before = working.map((subagent) => ({ subagent, runId: subagent.runId }));
  await stop();
  return {
    stopped: before.flatMap(({ subagent, runId }) => {
      const { end } = subagent;
      return end?.runId === runId && end.outcome === "stopped" ? [{ ...runOf(subagent), runId, turns: end.turns }] : [];
    }),
    stillRunning: working.filter(({ running }) => running !== undefined).map(runOf),
  };
}

function runOf({ agentId, agentType, name, description, runId }: Subagent): WorkingRun {
  return { agentId, agentType, name, description, runId };
}
