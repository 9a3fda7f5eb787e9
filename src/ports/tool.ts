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
  /** Whether a call can run in parallel with other calls in the same turn. */
  readonly parallel: boolean;
  /**
   * Whether a call changes something outside the agent. If so, the record that the call has started and the record of
   * its result are synced to disk.
   */
  readonly effects: boolean;
  /**
   * Set if a call whose process died can be performed again. The repeated call continues what the first one began and
   * does not repeat its effect.
   */
  readonly resumable?: true;
  /** The most that one call can spend on its own model requests. The actual cost is in `ToolFacts.spent`. */
  readonly takes?: SpendEstimate | undefined;
}

/** Traits of an unknown tool. Calling an unknown tool only returns an error. */
export const unknownTraits: ToolTraits = { parallel: true, effects: false };

/** Estimated cost of a model request. */
export interface SpendEstimate {
  readonly tokens: number;
  /** Absent if the price is unknown. */
  readonly usd?: number;
  /** Id of the model, for the message about a missing price. */
  readonly model?: string | undefined;
  /** Name of the model's provider in the settings. Absent if a program supplies the model. */
  readonly provider?: string | undefined;
}

/** Properties of a tool that the model and the runtime need to know. */
export interface ToolSpec {
  readonly declaration: ToolDeclaration;
  readonly traits: ToolTraits;
}

/**
 * A tool, created by a factory that captures the tool's workspace. The workspace can be a worktree, a sandbox or a
 * remote worker.
 */
export interface Tool extends ToolSpec {
  /** Schema of valid inputs, if the tool accepts more than it declares. If absent, the declared schema applies. */
  readonly accepts?: JsonSchema;
  /**
   * Set if a call with an unknown property that resembles a known one is refused, because the property may be a
   * misspelled limit. Other unknown properties are ignored.
   */
  readonly refusesMisspelled?: true;
  /**
   * Returns what a call would access. If absent, `permissions` derives the accesses from the tool's name. An empty list
   * means that they are unknown, so that only a rule or a person can allow the call. `agentId` is the calling agent, if
   * there is one. Never rejects.
   */
  accesses?(input: JsonObject, agentId?: AgentId): Promise<DescribedAccesses>;
  /** Returns the time limit for a call. If absent, the executor's default applies. */
  timeoutMs?: ((input: JsonObject) => number) | undefined;
  /**
   * Time in which an aborted call can report its progress, in milliseconds. If absent, the executor's default applies.
   */
  readonly abortGraceMs?: number;
  /** Maximum length of the result for the model, in characters. If absent, the executor's default applies. */
  readonly maxCharacters?: number;
  /**
   * Returns the error that a call would end with; undefined if the call may succeed. Changes nothing. Called before a
   * call needs approval, if the agent may read the files that the call would change.
   */
  foresee?(input: JsonObject, context: CallContext): Promise<ToolOutput | undefined>;
  /**
   * Runs a call whose input matches the schema. An expected failure sets `isError`. An exception is a bug and is
   * converted to an error result.
   */
  run(input: JsonObject, context: ToolContext): Promise<ToolOutput>;
  /**
   * Called when an agent starts from another agent's conversation. The new agent is then treated as having read every
   * file that the other agent has read.
   */
  inherit?(agentId: AgentId, from: AgentId): void;
  /** Releases what the tool keeps for an agent, such as its shells and the list of files it has read. */
  release?(agentId: AgentId): Promise<void>;
}

export type DescribedAccesses =
  | { readonly ok: true; readonly accesses: readonly Access[] }
  /** The input can't be used. The message tells the model why. */
  | { readonly ok: false; readonly message: string };

/** What a tool knows about a call before it runs. */
export interface CallContext {
  readonly agentId: AgentId;
  /**
   * Paths in the call, as they were resolved for the decision on the call. Empty if the tool's accesses are not known
   * before it runs.
   */
  readonly paths: readonly ResolvedPath[];
  /** Decides on an access that was not known before the call, such as a redirect. Treat `ask` as `deny`. */
  authorize(access: Access): Promise<Decision>;
  /** Returns whether an absolute path is hidden from listings and searches. Cheap to call. */
  hidden(path: string): boolean;
}

export interface ToolContext extends CallContext {
  readonly callId: CallId;
  readonly signal: AbortSignal;
  /** True if the call is allowed only because it changes nothing, so it runs read-only wherever that is possible. */
  readonly readsOnly?: boolean | undefined;
  /** The workspace's directories, and others that the policy lets the agent read. */
  readonly readableRoots?: readonly string[] | undefined;
  /** The user's replies to the questions that the call asks. Absent if the user did not answer. */
  readonly replies?: readonly UserReply[] | undefined;
  /** Returns those of the files that have another name (a hard link) which is hidden. */
  hiddenElsewhere(paths: readonly string[]): Promise<ReadonlySet<string>>;
  /** Reports progress to be shown while the call runs. Reports may be dropped. */
  progress(text: string): void;
  /** False if the call can't reach hidden files. If absent, it is unknown whether it can. */
  readonly hidesPaths?: boolean | undefined;
}

export interface ToolOutput {
  /** Result for the model. If it is long, the executor truncates it and stores the complete text on disk. */
  readonly content: readonly ResultBlock[] | string;
  readonly isError?: boolean;
  readonly details?: JsonObject;
  readonly facts?: ToolFacts;
}
