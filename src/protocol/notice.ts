import type { AgentId, RunId } from "./ids.ts";

/** The end of a background run, as its parent knows it. */
export interface Notice {
  readonly agentId: AgentId;
  readonly runId: RunId;
}
