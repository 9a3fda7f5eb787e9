import type { AgentId, RunId } from "./ids.ts";
import type { Outcome } from "./outcome.ts";

/** A run in the background, as its parent knows it. */
export interface Notice {
  readonly agentId: AgentId;
  readonly runId: RunId;
}

export interface EndedNotice extends Notice {
  readonly outcome: Outcome;
  /** Runs of its own agents that it was not told of; their ends are told to who reads this. */
  readonly unreturned?: readonly Notice[] | undefined;
}
