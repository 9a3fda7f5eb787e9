import type {
  Access,
  AgentId,
  CallId,
  Decision,
  JsonObject,
  ResolvedPath,
  ResultBlock,
  ToolDeclaration,
  ToolFacts,
} from "../protocol/index.ts";

export interface ToolTraits {
  /** May run beside other calls of the same turn. */
  readonly parallel: boolean;
  /** Changes something outside the agent: its intent and result are synced to disk. */
  readonly effects: boolean;
  /** A call whose process was lost is performed again: it continues what it began, and has no effect twice. */
  readonly resumable?: true;
  /** It asks a model by itself: what one call may take at most. What it took stands in `ToolFacts.spent`. */
  readonly takes?: SpendEstimate | undefined;
}

/** What asking a model may take. */
export interface SpendEstimate {
  readonly tokens: number;
  /** Absent: nobody knows the price. */
  readonly usd?: number;
  /** To name it where its price is missing. */
  readonly model?: string;
}

/** What the model and the runtime are told about a tool. */
export interface ToolSpec {
  readonly declaration: ToolDeclaration;
  readonly traits: ToolTraits;
}

/** Made by a factory that captures its workspace, so that a worktree, a sandbox or a remote worker can take its place. */
export interface Tool extends ToolSpec {
  /** How long this call may take; absent = the default of the executor. */
  timeoutMs?(input: JsonObject): number;
  /** How long it may take to say how far it came when it is aborted; absent = a moment. */
  readonly abortGraceMs?: number;
  /** Characters of its result that the model is given; absent = the default of the executor. */
  readonly maxCharacters?: number;
  /** The input fits the schema. Expected failure is `isError`; throwing is a bug that the executor turns into an error result. */
  run(input: JsonObject, context: ToolContext): Promise<ToolOutput>;
  /** A new agent goes on from the conversation of another: it knows what that one was shown. */
  inherit?(agentId: AgentId, from: AgentId): void;
  /** Lets go of what the tool holds for an agent (its shells, what it has read). */
  release?(agentId: AgentId): Promise<void>;
}

export interface ToolContext {
  readonly agentId: AgentId;
  readonly callId: CallId;
  readonly signal: AbortSignal;
  /** Paths of the call as they were resolved when it was decided. Empty if the tool's accesses are not known before it runs. */
  readonly paths: readonly ResolvedPath[];
  /** Shown while the call runs; may be dropped. */
  progress(text: string): void;
  /** Decides on what could not be known before the call (a redirect, what a path turned out to be). `ask` counts as no. */
  authorize(access: Access): Promise<Decision>;
  /** True for paths that deny rules hide from listings and searches. Takes absolute paths; cheap. */
  hidden(path: string): boolean;
}

export interface ToolOutput {
  /** For the model. May be long: the executor truncates it once and keeps the whole text on disk. */
  readonly content: readonly ResultBlock[] | string;
  readonly isError?: boolean;
  readonly details?: JsonObject;
  readonly facts?: ToolFacts;
}
