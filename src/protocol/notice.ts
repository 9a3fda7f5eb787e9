import type { AgentId, RunId } from "./ids.ts";
import type { Outcome } from "./outcome.ts";

/** A run in the background, as its parent knows it. */
export interface Notice {
  readonly agentId: AgentId;
  readonly runId: RunId;
}

export interface EndedNotice extends Notice {
  readonly outcome: Outcome;
}
