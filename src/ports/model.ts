import type {
  CallId,
  Dialect,
  Effort,
  Head,
  JsonSchema,
  Message,
  ModelOutcome,
  ModelRetry,
  Prices,
  Usage,
} from "../protocol/index.ts";

/** Name, limits and prices of a model. */
export interface ModelDescription {
  /** Name of the provider. */
  readonly provider: string;
  /** Name of the model, as the provider knows it. */
  readonly model: string;
  /** Wire format of `prompt.body`. */
  readonly dialect: Dialect;
  /** Size of the context window in tokens, including the output. */
  readonly window: number;
  /** Maximum length of a response in tokens. */
  readonly maxOutputTokens: number;
  /** Prices in US dollars per million tokens. Without them, no limit in dollars can be enforced. */
  readonly prices?: Prices | undefined;
  /** Number of tokens below which the provider caches nothing. Absent if unknown. */
  readonly cacheMinimumTokens?: number | undefined;
  /** Supported effort levels, lowest first. If absent, they are unknown, and the requested level is sent unchanged. */
  readonly efforts?: readonly Effort[] | undefined;
  /**
   * Set if the model decides how much to think and can return summaries of its thinking. Requests in the `anthropic`
   * dialect then ask for both.
   */
  readonly thinking?: "adaptive" | undefined;
  /** Set if the model accepts no effort level in requests with tools. */
  readonly noEffortWithTools?: boolean | undefined;
  /**
   * Set if the provider can summarize a conversation itself (`ModelRequest.summaryInstructions`). Such a summary stands for the
   * messages, so that the thinking in the messages that follow is still valid.
   */
  readonly compacts?: boolean | undefined;
  /** Set by Retinue if a program supplies the model, because messages then say other things about it. */
  readonly isSupplied?: true | undefined;
}

/** An immutable conversation for a model. Models behind an API are sent the bytes; other models read the messages. */
export interface Prompt {
  readonly head: Head;
  messages(): readonly Message[];
  /** Returns the request body in pieces, including cache marks. The same arguments give the same pieces. */
  body(dialect: Dialect, maxTokens: number, options?: BodyOptions): readonly Uint8Array[];
  /** Returns whether the conversation begins with a summary by the provider. */
  isCompacted?(): boolean;
}

/** Parts of a request that are not the same in all requests of a conversation. */
export interface BodyOptions {
  /** Schema that the provider is asked to enforce for the text of its response. */
  readonly answerSchema?: JsonSchema | undefined;
  /** Set to ask for no summaries of the model's thinking. */
  readonly withoutSummaries?: true | undefined;
  /** Set to ask the provider for a summary of the conversation, written in this way, instead of a response. */
  readonly summaryInstructions?: string | undefined;
}

/** A request to a model. */
export interface ModelRequest {
  readonly prompt: Prompt;
  /** Maximum length of the response in tokens, including thinking. */
  readonly maxTokens: number;
  /** Returns the id for the tool call with this index in the response. */
  readonly callId: (index: number) => CallId;
  readonly signal: AbortSignal;
  /**
   * Schema that the text of the response should match. Set only if the agent is correcting an answer that does not
   * match the `output` schema. A model that can't enforce a schema can ignore it: Retinue checks every answer.
   */
  readonly answerSchema?: JsonSchema | undefined;
  /**
   * How to summarize the conversation. Set to ask for a summary instead of a response, which then consists of one opaque
   * block of the type `compaction`. Only for models with `ModelDescription.compacts`.
   */
  readonly summaryInstructions?: string | undefined;
  /**
   * Expected length of the prompt in tokens, based on what the provider has counted so far. Models behind an API use it
   * for the usage of an attempt that ends before the provider reports any.
   */
  readonly promptTokens?: number | undefined;
  /**
   * Called before the request is sent again after a billed attempt, with the usage of that attempt. Resolves to the
   * token limit for the next attempt, or to the reason why no further attempt is possible. If absent, the limit stays
   * the same.
   */
  readonly repeat?: ((lost: Usage) => Promise<number | { readonly message: string }>) | undefined;
  /**
   * Called if the provider refuses the thinking in the prompt. Resolves to the same prompt without thinking, which is
   * then sent instead, or to undefined if the prompt has no thinking. If absent, the refusal is an error.
   */
  readonly withoutThinking?: (() => Promise<Prompt | undefined>) | undefined;
}

/** A part of a response that is being written. */
export type ModelProgress =
  | { readonly type: "text.delta"; readonly text: string }
  | { readonly type: "thinking.delta"; readonly text: string }
  | { readonly type: "call.delta"; readonly index: number; readonly name: string; readonly json: string }
  /**
   * The request is waiting, for the provider's rate limit if `for` says so, or else for other requests. `sent` ends the
   * wait.
   */
  | { readonly type: "waiting"; readonly for?: "rateLimit" | undefined }
  | { readonly type: "sent" }
  /** Something that the user should know, such as an option that the provider ignores. Reported once per session. */
  | { readonly type: "notice"; readonly message: string }
  /** The request is sent again. Everything streamed so far must be discarded. */
  | { readonly type: "retried"; readonly retry: ModelRetry; readonly lost?: Usage | undefined };

/** A language model. Programs can supply their own models. */
export interface Model {
  describe(): ModelDescription;
  /**
   * Calls the model. A failure is returned as an outcome. `emit` is called in order, and never after the promise has
   * settled. Only a program's model may reject: `openSession` wraps it, so that errors with an HTTP status (`status` or
   * `statusCode`) and failed connections are retried and reported as for other models.
   */
  call(request: ModelRequest, emit: (progress: ModelProgress) => void): Promise<ModelOutcome>;
}
