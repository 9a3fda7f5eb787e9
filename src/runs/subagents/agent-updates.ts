import type { RunUpdate } from "../../protocol/index.ts";

/**
 * What of its agents a run tells: `all`; `recorded`, which is what their transcripts say, without the parts of answers;
 * or `milestones`, which is when they begin and end, and what somebody should know or decide.
 */
export type AgentUpdates = "all" | "recorded" | "milestones";

export function isTold(update: RunUpdate, wanted: AgentUpdates): boolean {
  if (wanted === "all") return true;
  return wanted === "recorded" ? "id" in update : milestones.has(update.type);
}

const milestones: ReadonlySet<RunUpdate["type"]> = new Set([
  "agent.created",
  "run.started",
  "run.backgrounded",
  "run.ended",
  "notice.raised",
  "approval.requested",
  "approval.answered",
]);
