// Owns: performing runs, including the loop's host, approvals, budgets, threads, compaction and subagents. Does not
// own: what comes next (loop), what is allowed (permissions), bytes (conversation), files (transcript). Called by: app,
// reports.

export { answerProblem } from "./approvals/answer-problem.ts";
export { createApprovalQueue, type LiveRules, type SessionApprovals } from "./approvals/approval-queue.ts";
export type { Budget, BudgetSpent } from "./budget/budget.ts";
export { createBudget } from "./budget/create-budget.ts";
export { spendingIn, sumSpending } from "./budget/spending.ts";
export { withKeptHead } from "./head/kept-head.ts";
export { sessionCreated } from "./host/begin-run.ts";
export { clockLimits, connectionSilenceMs, foregroundMs } from "./host/clock-limits.ts";
export type { OutputCheck } from "./host/output-check.ts";
export { planEvents } from "./host/plan-mode.ts";
export { createRun, type Run, type RunOutlet, type StopCause } from "./host/run.ts";
export { runSessionEndHooks } from "./host/run-hooks.ts";
export type { Acceptance, LiveAgent, RefreshedAgent, RunRequest, RunServices } from "./host/run-host.ts";
export { startRun } from "./host/start-run.ts";
export { type AgentUpdates, renderOutput } from "./subagents/agent-output.ts";
export {
  type AvailableAgent,
  type AvailableAgents,
  declaredTypes,
  offeredAgents,
  policyForProgram,
} from "./subagents/available-agents.ts";
export { Dispatcher } from "./subagents/dispatcher.ts";
export type { SharedServices } from "./subagents/launch.ts";
export {
  createModelNames,
  createPrepare,
  type ModelNames,
  type SubagentPorts,
  withInstructions,
} from "./subagents/prepare.ts";
export type { Prepare } from "./subagents/prepared-agent.ts";
export { type StopReceipt, stopWithReceipt } from "./subagents/stop-receipt.ts";
export type { Subagent } from "./subagents/subagent.ts";
export { isVerifier, type WorkingCopy } from "./subagents/working-copy.ts";
export { Thread } from "./thread/thread.ts";
export { askUserQuestionSpec, NO_ONE_TO_ASK } from "./tools/ask-user-question.ts";
export {
  type AgentToolSpec,
  createAgentTool,
  createSkillRunner,
  delegationSpecs,
  delegationTools,
} from "./tools/delegation-tools.ts";
export { planSpecs } from "./tools/plan-tools.ts";
