import type {
  Access,
  AgentId,
  CallId,
  Decision,
  JsonObject,
  JsonSchema,
  ResolvedPath,
  ResultBlock,
  ToolDeclaration,
  ToolFacts,
  UserReply,
} from "../protocol/index.ts";

export interface ToolTraits {
  /** True if a call can run in parallel with other calls of the same turn. */
  readonly parallel: boolean;
  /** True if a call changes something outside the agent. Its intent and its result are then synced to disk. */
  readonly effects: boolean;
  /** True if a call whose process died can be performed again: it continues what it began and has no effect twice. */
  readonly resumable?: true;
  /** Most that one call can spend on model requests of its own. The actual spend is in `ToolFacts.spent`. */
  readonly takes?: SpendEstimate | undefined;
}

/** Estimate of what a model request costs. */
export interface SpendEstimate {
  readonly tokens: number;
  /** Absent: the price is unknown. */
  readonly usd?: number;
  /** Model id, for the message about a missing price. */
  readonly model?: string;
}

/** What the model and the runtime are told about a tool. */
export interface ToolSpec {
  readonly declaration: ToolDeclaration;
  readonly traits: ToolTraits;
}

/** Created by a factory that captures its workspace, which can be a worktree, a sandbox or a remote worker. */
export interface Tool extends ToolSpec {
  /** Schema of valid inputs, if the tool accepts more than it declares; absent: the declared schema. */
  readonly accepts?: JsonSchema;
  /** Refuses a call with an unknown input that resembles a known one, because it may be a limit. Others are ignored. */
  readonly refusesMisspelled?: true;
  /** Returns the time limit of a call; absent: the default of the executor. */
  timeoutMs?(input: JsonObject): number;
  /** Time in which an aborted call can report how far it came; absent: the default of the executor. */
  readonly abortGraceMs?: number;
  /** Maximum length of its result for the model, in characters; absent: the default of the executor. */
  readonly maxCharacters?: number;
  /** Runs a call whose input fits the schema. An expected failure sets `isError`; throwing is a bug, which becomes an error result. */
  run(input: JsonObject, context: ToolContext): Promise<ToolOutput>;
  /** Called when an agent starts from the conversation of another: it has seen the files that the other one has read. */
  inherit?(agentId: AgentId, from: AgentId): void;
  /** Releases what the tool holds for an agent, such as its shells and the files it has read. */
  release?(agentId: AgentId): Promise<void>;
}

export interface ToolContext {
  readonly agentId: AgentId;
  readonly callId: CallId;
  readonly signal: AbortSignal;
  /** Paths of the call as they were resolved when it was decided. Empty if the tool's accesses are not known before it runs. */
  readonly paths: readonly ResolvedPath[];
  /** The user's replies to the questions that the call asks; absent: not answered. */
  readonly replies?: readonly UserReply[] | undefined;
  /** Reports progress to show while the call runs. It may be dropped. */
  progress(text: string): void;
  /** Decides on an access that was not known before the call, such as a redirect. `ask` counts as deny. */
  authorize(access: Access): Promise<Decision>;
  /** Returns true for an absolute path that deny rules hide from listings and searches. Cheap. */
  hidden(path: string): boolean;
}

export interface ToolOutput {
  /** Result for the model. The executor truncates it if it is long and keeps the complete text on disk. */
  readonly content: readonly ResultBlock[] | string;
  readonly isError?: boolean;
  readonly details?: JsonObject;
  readonly facts?: ToolFacts;
}
