import type {
  CallId,
  Dialect,
  Effort,
  Head,
  Message,
  ModelOutcome,
  ModelRetry,
  Prices,
  Usage,
} from "../protocol/index.ts";

export interface ModelDescription {
  readonly provider: string;
  readonly model: string;
  readonly dialect: Dialect;
  /** Context window in tokens, output included. */
  readonly window: number;
  readonly maxOutputTokens: number;
  readonly prices?: Prices | undefined;
  /** Number of tokens below which the provider caches nothing. Absent: unknown, so none is assumed. */
  readonly cacheMinimumTokens?: number | undefined;
  /** Supported effort levels, lowest first. Absent: unknown, so the requested level is sent as it is. */
  readonly efforts?: readonly Effort[] | undefined;
  /** True if the model accepts no effort level in requests with tools. */
  readonly noEffortWithTools?: boolean | undefined;
}

/** A frozen conversation as a model sees it: wire models send bytes, others read messages. */
export interface Prompt {
  readonly head: Head;
  messages(): readonly Message[];
  /** Returns the request body in pieces, cache marks included. The same prompt and limit give the same pieces. */
  body(dialect: Dialect, maxTokens: number): readonly Uint8Array[];
}

export interface ModelRequest {
  readonly prompt: Prompt;
  /** Limit of the answer in tokens, thinking included. */
  readonly maxTokens: number;
  /** Returns the id of the n-th tool call of this answer. */
  readonly callId: (index: number) => CallId;
  readonly signal: AbortSignal;
  /**
   * Called before the request is sent again after a billed attempt, with that attempt's usage. Resolves to the token limit
   * of the next attempt, or to the reason why there can be none. Absent: always the same limit.
   */
  readonly repeat?: (lost: Usage) => Promise<number | { readonly message: string }>;
}

export type ModelProgress =
  | { readonly type: "text.delta"; readonly text: string }
  | { readonly type: "thinking.delta"; readonly text: string }
  | { readonly type: "call.delta"; readonly index: number; readonly name: string; readonly json: string }
  /** The request waits for others, or because the provider asked for a pause. `sent` ends the wait. */
  | { readonly type: "waiting" }
  | { readonly type: "sent" }
  /** The request is sent again. What was streamed before is void. */
  | { readonly type: "retried"; readonly retry: ModelRetry; readonly lost?: Usage | undefined };

export interface Model {
  describe(): ModelDescription;
  /** Never rejects: a failure is an outcome. `emit` is called in order, and never after the promise has settled. */
  call(request: ModelRequest, emit: (progress: ModelProgress) => void): Promise<ModelOutcome>;
}
