// Owns: every word that touches disk or wire, as plain types and tables.
// Does not own: behaviour, schemas for checking (protocol/schemas), input and output.
// Called by: every room.
export { agentAliases, isSameAgent, VERIFIER } from "./agent-names.ts";
export type { AlwaysAnswer, ApprovalAnswer, ApprovalQuestion, InboxLine } from "./approval.ts";
export { NOBODY } from "./approval.ts";
export { backgroundTools } from "./background-tools.ts";
export type {
  AgentBudget,
  AgentDefinition,
  CompactRule,
  DefinitionSource,
  McpServerUse,
  SkillDefinition,
} from "./definition.ts";
export { definitionSources } from "./definition.ts";
export type { Delivery } from "./delivery.ts";
export { delivery } from "./delivery.ts";
export type { Diagnostic } from "./diagnostic.ts";
export type {
  CacheDimension,
  ContextCause,
  DurableEvent,
  KeptWorktree,
  ModelRetry,
  ParentCall,
  RecordedDecision,
  SpawnSpec,
} from "./durable-event.ts";
export type { EventOf, Line, LineEnvelope, LiveEvent, RunEvent, RunUpdate, SubagentEvent } from "./event.ts";
export type { ForkChoice, ForkOrigin } from "./fork.ts";
export { FORK_TYPE, FORK_WORDS, forkChoices } from "./fork.ts";
export type { CacheLifetime, Dialect, Effort, Head, ToolDeclaration } from "./head.ts";
export type {
  HookAnswer,
  HookCommon,
  HookEntry,
  HookEvent,
  HookFacts,
  HookRecord,
  HookSource,
} from "./hook.ts";
export { definitionHookEvents, hookEvents } from "./hook.ts";
export { type HookEntries, type HookProblem, readHookEntries } from "./hook-entries.ts";
export type { AgentId, CallId, LineId, RunId, SessionId } from "./ids.ts";
export { MAIN_AGENT } from "./ids.ts";
export type { JsonObject, JsonSchema, JsonValue } from "./json.ts";
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
} from "./message.ts";
export { callsOf, textOf } from "./message.ts";
export type { ModelError, ModelErrorCode, ModelOutcome, StopReason } from "./model-outcome.ts";
export type { EndedNotice, Notice } from "./notice.ts";
export type {
  AcceptanceResult,
  CommandFact,
  DeniedFact,
  EndReason,
  Outcome,
  RunEnd,
  RunFacts,
  RunResult,
  Verdict,
} from "./outcome.ts";
export { noFacts, outcomeOf } from "./outcome.ts";
export type {
  Access,
  Decision,
  Effect,
  Grant,
  PermissionMode,
  Policy,
  PolicyLayer,
  ResolvedPath,
  Rule,
  RuleScope,
} from "./permission.ts";
export { permissionModes } from "./permission.ts";
export type { RecordedPolicy } from "./recorded-policy.ts";
export type {
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
export type { CallOutcome, ToolCall, ToolFacts, ToolResult } from "./tool-call.ts";
export { canonicalToolName, toolNames } from "./tool-names.ts";
export type { ToolReport } from "./tool-report.ts";
export type { Prices, ReservedSpend, Usage } from "./usage.ts";
export { addUsage, costOf, noUsage, paidUsage, writePrice } from "./usage.ts";
