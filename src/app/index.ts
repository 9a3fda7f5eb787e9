// Owns: putting the modules together: a session with its model, tools, policy and transcript. The only place that wires.
// Does not own: any behaviour of its own.
// Called by: cli, and programs that embed Retinue (src/index.ts).

export type { AgentFigures, CacheFigures, CacheReport, ExplainedRequest } from "../cache-report/index.ts";
export type { HookFunction, HookInput } from "../hooks/index.ts";
export { UserError } from "../lib/index.ts";
export type {
  Approvals,
  Model,
  ModelDescription,
  ModelProgress,
  ModelRequest,
  Prompt,
} from "../ports/index.ts";
export type {
  ApprovalAnswer,
  ApprovalQuestion,
  EndReason,
  HookAnswer,
  HookEvent,
  Line,
  LiveEvent,
  ModelOutcome,
  Outcome,
  PermissionMode,
  RunFacts,
  RunResult,
  RunUpdate,
  Settings,
  Usage,
  UserBlock,
} from "../protocol/index.ts";
export type { AgentUpdates, Run, StopCause, StopReceipt } from "../runs/index.ts";
export { type LoadedSettings, type LoadSettingsOptions, loadSettings, type TrustedPath } from "../settings/index.ts";
export {
  checkHome,
  deleteSession,
  type FoundSession,
  findSession,
  type HomeCheck,
  latestSessionId,
  listSessions,
  type ReadTranscript,
  readTranscript,
  type SessionSummary,
} from "../transcript/index.ts";
export type { ListedWorktree, PrunedWorktrees } from "../workspace/index.ts";
export type { CatalogPlace } from "./agents/agent-catalog.ts";
export {
  type AgentCallback,
  type AgentEnvironment,
  type AgentOptions,
  type AgentPrompt,
  defineAgent,
  type HookOptions,
} from "./agents/define-agent.ts";
export type { AgentCheck, AgentDetails, AgentList, LintReport, NewAgent } from "./commands/agents.ts";
export type { AnsweredRequest, AnswerWish, ListedRequest } from "./commands/approvals.ts";
export {
  agentCommands,
  approvalCommands,
  cacheCommands,
  cleanUpDaily,
  examine,
  type Finding,
  permissionCommands,
  pluginCommands,
  trustCommands,
  worktreeCommands,
} from "./commands/commands-lazily.ts";
export type { InstalledPlugin, Plugin } from "./commands/plugins.ts";
export type { AddedTrust, TrustPlace } from "./commands/trust.ts";
export { stateDirectory } from "./places.ts";
export { openSession } from "./session/open-session.ts";
export type { Session } from "./session/session.ts";
export type { FunctionHookOptions, SessionHookOptions } from "./session/session-hooks.ts";
export type { OnAsk, SessionOptions } from "./session/session-options.ts";
export { loadProjectSettings, type ProjectSettings, type ProjectSettingsOptions } from "./settings/project-settings.ts";
export { VERSION } from "./version.ts";
