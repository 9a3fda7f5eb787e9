// Owns: performing a run: the host of the loop, the gate before every tool call, threads restored from their journal.
// Does not own: what comes next (loop), what is allowed (permissions), bytes (conversation), files (transcript).
// Called by: app.
export type { AgentRecord } from "./agent-record.ts";
export type { AgentUpdates } from "./agent-updates.ts";
export type { AgentWish, ForkWish, PreparedAgent, ReadyAgent, Superior } from "./agent-wish.ts";
export type { SessionDesk } from "./approval-desk.ts";
export type { Budget } from "./budget.ts";
export { clockLimits, connectionSilenceMs } from "./clock-limits.ts";
export { createApprovalDesk } from "./create-approval-desk.ts";
export { createBudget } from "./create-budget.ts";
export { Dispatcher, type DispatcherServices } from "./dispatcher.ts";
export type { Run, StopCause } from "./run.ts";
export { tellOfSessionEnd } from "./run-hooks.ts";
export type { Acceptance, RunRequest, RunServices } from "./run-host.ts";
export { spentOf } from "./spent-of.ts";
export { startRun } from "./start-run.ts";
export { type StopReceipt, stopWithReceipt } from "./stop-receipt.ts";
export { Thread } from "./thread.ts";
export { delegationTools } from "./tools/delegation-tools.ts";
export { type DelegationOffer, delegationFaces } from "./tools/faces.ts";
export { planFaces } from "./tools/plan-faces.ts";
