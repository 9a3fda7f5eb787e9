// Owns: assembling the modules into a session with its model, tools, policy and transcript. No other module does this.
// Does not own: any other behavior. Called by: cli, server, and programs that embed Retinue (src/index.ts).

export type { HookFunction, HookFunctionAnswer as HookAnswer, HookInput } from "../hooks/index.ts";
export { UserError } from "../lib/index.ts";
export { invalidRule } from "../permissions/index.ts";
export type {
  Approvals,
  BodyOptions,
  FeedPosition,
  Model,
  ModelDescription,
  ModelProgress,
  ModelRequest,
  Prompt,
  Transcript,
} from "../ports/index.ts";
export type {
  ApprovalQuestion,
  AssistantBlock,
  AssistantMessage,
  BuiltInToolName,
  CacheLifetime,
  CallId,
  Command,
  ContextPart,
  ContextReport,
  Dialect,
  Effort,
  EndReason,
  GivenAnswer as ApprovalAnswer,
  Head,
  HookCommand,
  HookEvent,
  HookSettings,
  ImageBlock,
  InputTransformation,
  JsonObject,
  JsonSchema,
  JsonValue,
  Line,
  LiveEvent,
  LoadedSettings,
  LongPromptPrices,
  Message,
  ModelError,
  ModelErrorCode,
  ModelOutcome,
  ModelRetry,
  OpaqueBlock,
  Origin,
  Outcome,
  PastPrompt,
  PermissionMode,
  Prices,
  ProjectSettings,
  Receipt,
  ResultBlock,
  RunEnd,
  RunFacts,
  RunResult,
  RunUpdate,
  SessionUpdate,
  Settings,
  StopReason,
  TextBlock,
  ThinkingBlock,
  TokenPrices,
  ToolCall,
  ToolCallBlock,
  ToolDeclaration,
  ToolResultBlock,
  ToolText,
  Usage,
  UserBlock,
  UserMessage,
  UserQuestion,
  UserReply,
} from "../protocol/index.ts";
export {
  type AgentFigures,
  type CacheFigures,
  type CacheReport,
  type ExplainedRequest,
  explainCache,
  reportCache,
  reportContext,
} from "../reports/index.ts";
export type { AgentUpdates, StopCause, StopReceipt } from "../runs/index.ts";
export {
  type LoadSettingsOptions,
  loadSettings,
  originsWithoutSecrets,
  type TrustedPath,
  withoutSecrets,
} from "../settings/index.ts";
export { previewChange } from "../tools/index.ts";
export {
  checkHome,
  cleanUpDaily,
  createMemoryTranscript,
  deleteSession,
  type FollowOptions,
  type FoundSession,
  findSession,
  followSession,
  type HomeCheck,
  lastEventNumber,
  lastRunEnd,
  latestSessionId,
  listSessions,
  type ReadSession,
  type ReadTranscript,
  readSession,
  readTranscript,
  type SessionSummary,
  sessionStamp,
} from "../transcript/index.ts";
export { type ProjectSettingsOptions, workspaceDirectory } from "../worker/index.ts";
export {
  describeState,
  type ListedWorktree,
  listWorktrees,
  type PrunedWorktrees,
  pruneWorktrees,
} from "../workspace/index.ts";
export type { CatalogOptions } from "./agents/agent-catalog.ts";
export type {
  AgentCallback,
  AgentEnvironment,
  AgentOptions,
  AgentPrompt,
  HookOptions,
} from "./agents/agent-options.ts";
export { defineAgent } from "./agents/define-agent.ts";
export {
  type AgentFileRefusal,
  changeAgentFile,
  checkAgentText,
  checkNewAgent,
  createAgentFile,
  readAgentText,
} from "./commands/agent-files.ts";
export {
  type AgentDetails,
  type AgentList,
  listAgents,
  listSkills,
  type NewAgent,
  showAgent,
  whyNotNew,
  writeNewAgent,
} from "./commands/agents.ts";
export {
  type AnsweredRequest,
  type AnswerRequest,
  answerApproval,
  answerFor,
  findRequest,
  giveAnswer,
  type ListedRequest,
  listApprovals,
  matchRequest,
  readReply,
  settledAnswer,
  userName,
  waitingRequests,
} from "./commands/approvals.ts";
export {
  type AgentCheck,
  checkAgents,
  checkSettingsAgents,
  definitionDirectories,
  type LintReport,
  lintAgents,
  shownPath,
  withWorkspace,
} from "./commands/check-agents.ts";
export { isAgentCommand, refuseAgentCommand } from "./commands/check-answerer.ts";
export { checkInstallation, type Finding } from "./commands/check-installation.ts";
export { type CheckedRow, checkRows, INVALID_ROW } from "./commands/check-rows.ts";
export {
  type ListedModel,
  type ListedProvider,
  type LookedUpModel,
  listProviders,
  lookUpModel,
  type ModelFacts,
  modelsOf,
} from "./commands/list-models.ts";
export {
  type ExplainedCall,
  explainCall,
  isIgnored,
  listRules,
  type RuleList,
  ruleProblems,
} from "./commands/permissions.ts";
export {
  addPlugin,
  disablePlugin,
  enablePlugin,
  findPlugin,
  type InstalledPlugin,
  listPlugins,
  type Plugin,
  removePlugin,
} from "./commands/plugins.ts";
export { readCost } from "./commands/read-cost.ts";
export { reportAgent } from "./commands/report-agent.ts";
export { readServedRecord, type SessionChoices, writeServedRecord } from "./commands/served-record.ts";
export {
  awaitedRuns,
  findAgentId,
  hasUnfinishedWork,
  hasWaitingWork,
  type ListedAgent,
  type NewCommand,
  type SteerRequest,
  type SteerResult,
  steerSession,
  unmatchedAgent,
} from "./commands/steer.ts";
export { type AbilityCheck, type ModelTest, testModel } from "./commands/test-model.ts";
export {
  type AddedTrust,
  addTrust,
  isTrusted,
  listTrust,
  removeTrust,
  reviewTrust,
  type TrustOptions,
} from "./commands/trust.ts";
export { unpricedModel } from "./commands/unpriced-model.ts";
export { readWaitingPrompts, type WaitingPrompt } from "./commands/waiting-prompts.ts";
export { createDirectoryWorker, type DirectoryWorker, type DirectoryWorkerOptions } from "./commands/worker.ts";
export { stateDirectory } from "./directories.ts";
export { openSession as openSessionLazily, run as runLazily } from "./library.ts";
export { openSession } from "./opening/open-session.ts";
export type {
  FunctionHookOptions,
  McpServerOptions,
  OnAsk,
  SessionHookOptions,
  SessionOptions,
} from "./opening/session-options.ts";
export { type CompletedRun, type RunOptions, run } from "./run.ts";
export type { Schema, SchemaValue, StandardSchema } from "./schemas/schema.ts";
export type { PromptOptions, PromptResult, Run } from "./session/prompt-run.ts";
export { type RewindOptions, type RewindReport, readPrompts } from "./session/rewind.ts";
export type { Session } from "./session/session.ts";
export type { SessionSpending } from "./session/session-spending.ts";
export type { StartedSubagent, SubagentInfo, SubagentOptions, Subagents } from "./session/subagents.ts";
export { type SessionsOptions, sessions } from "./sessions.ts";
export { loadProjectSettings } from "./settings/project-settings.ts";
export { type ManageableOptions, type OverriddenOption, withoutManaged } from "./settings/without-managed.ts";
export { loadWorkerSettings, type WorkerSettingsOptions } from "./settings/worker-settings.ts";
export { systemClock } from "./system-clock.ts";
export { agentTool, defineTool } from "./tools/define-tool.ts";
export type { AgentTool, CustomTool, ToolAccess, ToolCallContext, ToolOptions } from "./tools/tool-types.ts";
export { VERSION } from "./version.ts";
