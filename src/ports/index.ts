// Owns: the interfaces through which modules call each other, as types only.
// Does not own: any implementation.
// Called by: modules that implement a port, and modules that receive one.
export type { Approvals, CountedAnswer, Inbox } from "./approvals.ts";
export type { Clock, EnvironmentFacts, GitState } from "./environment.ts";
export type { AddressedTexts, ExecuteRequest, JudgedInput, Judgment, ResultStore, ToolExecutor } from "./executor.ts";
export type { HookOutcome, HookScene, Hooks } from "./hooks.ts";
export type {
  Checkpoint,
  Checkpoints,
  Feed,
  FeedPosition,
  Journal,
  NewCheckpoint,
  OutputFile,
  Transcript,
} from "./journal.ts";
export type {
  ConfiguredMcpServers,
  ConnectedMcpServer,
  McpClient,
  McpConnection,
  McpServerConfig,
  McpServerOffers,
  McpServers,
  McpWebServerConfig,
  OwnMcpServer,
  OwnMcpServerConfig,
  RunnableMcpConnection,
  StdioMcpServerConfig,
} from "./mcp.ts";
export type { BodyOptions, Model, ModelDescription, ModelProgress, ModelRequest, Prompt } from "./model.ts";
export type { SkillLoad, SkillRunner, Skills } from "./skills.ts";
export type {
  CallContext,
  DescribedAccesses,
  SpendEstimate,
  Tool,
  ToolContext,
  ToolOutput,
  ToolSpec,
  ToolTraits,
} from "./tool.ts";
export { unknownTraits } from "./tool.ts";
export type {
  AgentWorktreeRequest,
  ClosingOptions,
  FileRestoration,
  HookInvocation,
  HookRun,
  McpOffer,
  OpenedWorktree,
  RestoredFile,
  ServersRequest,
  SettingsRequest,
  SnapshotAnswer,
  SnapshotRequest,
  WorkerChange,
  WorkerFacts,
  WorkerPort,
  WorkerSession,
  WorkerSessionOptions,
} from "./worker.ts";
export type {
  ChangedFile,
  Confinement,
  DirectoryEntry,
  FileFailure,
  FileGuard,
  FileStat,
  ProcessInput,
  ReadOnlyView,
  RunningProcess,
  SpawnOptions,
  WalkedPath,
  WalkOptions,
  Workspace,
} from "./workspace.ts";
