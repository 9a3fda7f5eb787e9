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
  /** Tokens of context, output included. */
  readonly window: number;
  readonly maxOutputTokens: number;
  readonly prices?: Prices;
  /** The levels it has, lowest first; empty: none. Absent: nobody knows, so what is asked for is sent as it is. */
  readonly efforts?: readonly Effort[];
  /** Given tools, it takes none of them. */
  readonly noEffortWithTools?: true;
}

/** A frozen conversation as a model sees it: wire models send bytes, others read messages. */
export interface Prompt {
  readonly head: Head;
  messages(): readonly Message[];
  /** The request body in pieces, cache marks included. The same prompt and limit give the same pieces. */
  body(dialect: Dialect, maxTokens: number): readonly Uint8Array[];
}

export interface ModelRequest {
  readonly prompt: Prompt;
  /** The longest answer, in tokens, thinking included. */
  readonly maxTokens: number;
  /** Gives the id of the n-th tool call of this answer. */
  readonly callId: (index: number) => CallId;
  readonly signal: AbortSignal;
  /**
   * Called before the request is sent again after an attempt that was paid for, with its cost. Resolves with the longest
   * answer of the next attempt, or with why there can be none. Absent: always the same limit.
   */
  readonly repeat?: (lost: Usage) => Promise<number | { readonly message: string }>;
}

export type ModelProgress =
  | { readonly type: "text.delta"; readonly text: string }
  | { readonly type: "thinking.delta"; readonly text: string }
  | { readonly type: "call.delta"; readonly index: number; readonly name: string; readonly json: string }
  /** Nothing is asked for the moment: others come first, or the provider wants a pause. `sent` ends it. */
  | { readonly type: "waiting" }
  | { readonly type: "sent" }
  /** The whole request has left: nothing is to be done until the answer comes. */
  | { readonly type: "gone" }
  /** What was streamed before a retry is void. */
  | { readonly type: "retried"; readonly retry: ModelRetry; readonly lost?: Usage | undefined };

export interface Model {
  describe(): ModelDescription;
  /** Never rejects: failure is an outcome. `emit` is called in order, and never after the promise settled. */
  call(request: ModelRequest, emit: (progress: ModelProgress) => void): Promise<ModelOutcome>;
}
