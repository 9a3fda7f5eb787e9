// Owns: the types of everything that is written to disk or sent over a wire, and related tables. Does not own:
// behavior, including input and output. Called by: every module.
export { type Address, isAddress, outputAddress, parseAddress, resultAddress } from "./address.ts";
export type { ContextPart, ContextReport } from "./agents/context-report.ts";
export type {
  AgentBudget,
  AgentColor,
  AgentDefinition,
  CompactRule,
  DefinitionSource,
  Diagnostic,
  McpServerUse,
  SkillDefinition,
  SkillFork,
} from "./agents/definition.ts";
export {
  agentAliases,
  agentColors,
  definitionSources,
  isSameAgent,
  UNAPPROVED,
  VERIFIER,
} from "./agents/definition.ts";
export { ENVIRONMENT_OPENING, runtimeTexts, type ToldEnvironment } from "./agents/environment.ts";
export type { ForkChoice, ForkOrigin } from "./agents/fork.ts";
export { FORK_INTRODUCTION, FORK_TYPE, forkChoices } from "./agents/fork.ts";
export {
  isRuntimeText,
  runtimeText,
  runtimeTextBegins,
  withinRuntimeTag,
  withoutRuntimeTag,
} from "./agents/runtime-text.ts";
export type { Command, InboxLine, PastPrompt, Receipt } from "./control.ts";
export type {
  CacheDimension,
  ChildMetadata,
  ContextCause,
  DurableEvent,
  HeadReason,
  KeptWorktree,
  ModelRetry,
  ParentCall,
  RecordedDecision,
  ResumeCause,
  SpawnSpec,
} from "./events/durable-event.ts";
export type {
  AgentLiveEvent,
  Delivery,
  EventOf,
  Line,
  LineEnvelope,
  LiveEvent,
  RunEvent,
  RunUpdate,
  SessionUpdate,
  SubagentEvent,
} from "./events/event.ts";
export { delivery } from "./events/event.ts";
export type {
  AcceptanceResult,
  Changes,
  CommandFact,
  DeniedFact,
  EndedNotice,
  EndReason,
  Outcome,
  ReachedLimit,
  RunEnd,
  RunFacts,
  RunRef,
  RunResult,
  Verdict,
} from "./events/outcome.ts";
export { addFacts, isUnfinished, noFacts, outcomeOf } from "./events/outcome.ts";
export type {
  HookAnswer,
  HookCommon,
  HookEntry,
  HookEvent,
  HookFacts,
  HookProblem,
  HookRecord,
  HookSource,
} from "./hooks/hook.ts";
export { definitionHookEvents, hookEvents, readHookEntries } from "./hooks/hook.ts";
export type { AgentId, CallId, LineId, PromptId, RunId, SessionId } from "./ids.ts";
export { MAIN_AGENT } from "./ids.ts";
export type { JsonObject, JsonSchema, JsonValue } from "./json.ts";
export {
  type CacheLifetime,
  type Dialect,
  dialects,
  type Effort,
  efforts,
  type Head,
  type ToolDeclaration,
} from "./model/head.ts";
export type {
  AssistantBlock,
  AssistantMessage,
  ImageBlock,
  Message,
  OpaqueBlock,
  Origin,
  ResultBlock,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultBlock,
  UserBlock,
  UserMessage,
} from "./model/message.ts";
export { callsOf, textOf } from "./model/message.ts";
export type {
  InputTransformation,
  ModelError,
  ModelErrorCode,
  ModelOutcome,
  StopReason,
} from "./model/model-outcome.ts";
export type { LongPromptPrices, Prices, ReservedSpend, TokenPrices, Usage } from "./model/usage.ts";
export { addUsage, costOf, highestPrices, noUsage, paidUsage, promptTokens } from "./model/usage.ts";
export type {
  AlwaysAnswer,
  ApprovalAnswer,
  ApprovalQuestion,
  GivenAnswer,
} from "./permissions/approval.ts";
export { NO_APPROVER, THE_PROGRAM } from "./permissions/approval.ts";
export type { GitRepository } from "./permissions/git-repository.ts";
export type {
  Access,
  Decision,
  DirectoryWalk,
  Effect,
  Grant,
  InputPath,
  PermissionMode,
  Policy,
  PolicyLayer,
  RecordedPolicy,
  ResolvedPath,
  Rule,
  RuleScope,
  ShellPath,
} from "./permissions/permission.ts";
export { permissionModes } from "./permissions/permission.ts";
export type { UserQuestion, UserQuestionOption, UserReply } from "./permissions/user-question.ts";
export type {
  AgentPlace,
  ContextFile,
  LoadedAgent,
  LoadedSkill,
  MemoryRequest,
  OpenedMemory,
  Snapshot,
  UnloadedAgent,
} from "./project/definitions.ts";
export type { AgentSettings, Approval, LoadedSettings, ProjectSettings } from "./project/settings.ts";
export type { GitPrograms, PluginHook, PluginParts, ProjectSnapshot } from "./project/snapshot.ts";
export type {
  AgentDraft,
  AgentFileCheck,
  AgentInfo,
  AgentReport,
  NewSession,
  Problem,
  Scope,
  SessionInfo,
  SessionState,
  WaitingApproval,
  WorkerInfo,
  WrittenAgent,
} from "./server/api.ts";
export type { ServerEvent, SessionClosed, SessionSnapshot } from "./server/stream-event.ts";
export {
  fromWire,
  type SubagentEnvelope,
  toWire,
  type WireAgent,
  type WireEvent,
  type WireUpdate,
  wireNames,
} from "./server/wire-event.ts";
export type {
  HookCommand,
  HookSettings,
  ModelTier,
  PermissionSettings,
  ProviderSettings,
  SandboxMode,
  SandboxSettings,
  ScopedCompactRule,
  SearchSettings,
  Settings,
  SettingsOrigin,
  SettingsScope,
  SubagentSettings,
  ToolTimeouts,
} from "./settings.ts";
export { DEFAULT_MAX_SPAWNS, settingsScopes } from "./settings.ts";
export type {
  BuiltInToolName,
  CallOutcome,
  FileImage,
  RuledAccess,
  ToolCall,
  ToolFacts,
  ToolReport,
  ToolResult,
  ToolText,
} from "./tools/tool.ts";
export {
  accessNamed,
  backgroundTools,
  canonicalToolName,
  isFilePattern,
  isKnownTool,
  isWholePattern,
  ruledAccess,
  textResult,
  textsOfLine,
  toolNames,
} from "./tools/tool.ts";
