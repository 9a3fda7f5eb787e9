import type { IncomingHttpHeaders } from "node:http";

/**
 * Wire format of a request: Anthropic's Messages API, OpenAI's Chat Completions API or Responses API, or Google's Gemini
 * API.
 */
export type Wire = "anthropic" | "openai" | "responses" | "gemini";

/** Stop reasons by their Anthropic names. The other wire formats map them to their own. */
export type StopReason =
  | "end_turn"
  | "tool_use"
  | "max_tokens"
  | "stop_sequence"
  | "refusal"
  | "pause_turn"
  | "model_context_window_exceeded"
  | "compaction";

/** Exact pieces of the stream, or one string that is split into pieces of `chunkCharacters` characters. */
export type Pieces = string | readonly string[];

/** A tool call in a reply, such as `{ tool: "Read", input: { file_path: "a.js" } }`. */
export type ToolPart = {
  tool: string;
  id?: string;
  /**
   * Input of the tool call, serialized by JSON.stringify. `inputJson` is sent verbatim instead, even if it is not valid
   * JSON.
   */
  input?: unknown;
  inputJson?: Pieces;
};

/** One block of a reply: text, thinking, a tool call, or any other block. */
export type ReplyPart =
  | string
  | { text: Pieces }
  /**
   * Thinking. Without a signature, the server signs it for this conversation. As in the provider's responses, Claude's
   * current models return its text only if the request sets `thinking.display`.
   */
  | { thinking: Pieces; signature?: string }
  | { redactedThinking: string }
  | ToolPart
  /**
   * Any other Anthropic content block, OpenAI output item or Gemini part, for example from a provider's search. It is
   * sent whole in one event.
   */
  | { block: Readonly<Record<string, unknown>> };

/** Delays with which a reply is sent. */
export type Pacing = {
  /** Delay before the response's headers. */
  delayMs?: number;
  /** Delay between the headers and the first byte of the body. */
  firstByteMs?: number;
  /** Delay before each further event. */
  chunkMs?: number;
  chunkCharacters?: number;
};

/** Values that replace the computed usage. */
export type UsageOverride = Partial<Usage>;

export type Usage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** Part of `cacheWriteTokens` that is cached for an hour. */
  cacheWrite1hTokens: number;
};

/** A reply from the model, such as `{ content: "Hello." }` or `{ content: [{ tool: "Read", input: {…} }] }`. */
export type Reply = {
  content: string | readonly ReplyPart[];
  /** Stop reason; defaults to tool_use if there is a tool call, and to end_turn otherwise. */
  stopReason?: StopReason;
  /** Finish reason in the Gemini wire format, such as "RECITATION". Replaces the one that follows from `stopReason`. */
  finishReason?: string;
  pacing?: Pacing;
  usage?: UsageOverride;
  headers?: Readonly<Record<string, string>>;
  /** Changes to the request that the Messages API reports, in place of those that the server finds. */
  inputTransformations?: readonly InputTransformation[];
  fault?: Fault;
};

/** A thinking block in a request that the model did not get to read, or that it should not have read. */
export type InputTransformation = {
  type: "thinking_dropped" | "thinking_mismatch_allowed";
  path: string;
  reason?: string;
};

/** Number of body bytes, or a random position in the body, determined by the seed. */
export type AfterBytes = number | "random";

/**
 * When a client should try again, expressed in seconds, as a date, or in milliseconds. Sent in a header, or in the error
 * itself in the Gemini wire format.
 */
export type RetryAfter = { seconds: number } | { dateInSeconds: number } | { milliseconds: number };

/** A fault in a response, such as `{ kind: "status", status: 529 }` or `{ kind: "hang" }`. */
export type Fault =
  | {
      kind: "status";
      status: number;
      retryAfter?: RetryAfter;
      errorType?: string;
      message?: string;
      /** Body that replaces the error object of the wire format. */
      body?: string;
      headers?: Readonly<Record<string, string>>;
    }
  /**
   * OpenAI: 429 insufficient_quota. Anthropic: billing_error with 429 or 402, or the credit message with 400. Gemini:
   * RESOURCE_EXHAUSTED without a time to wait.
   */
  | { kind: "spend-cap"; status?: 400 | 402 | 429 }
  /** Without `afterBytes`, this fault and the next two happen before the headers. */
  | { kind: "hang"; afterBytes?: AfterBytes }
  | { kind: "close"; afterBytes?: AfterBytes }
  | { kind: "reset"; afterBytes?: AfterBytes }
  | { kind: "slow"; msPerByte: number }
  /** Writes this many bytes at a time (default 1). */
  | { kind: "split"; bytes?: number }
  | { kind: "error-event"; afterEvents?: number; errorType?: string; message?: string }
  | { kind: "truncated-tool-json"; end: "close" | "max-tokens" }
  | { kind: "invalid-utf8" }
  | { kind: "duplicate-event"; event?: number }
  /** Sends an event of an unknown type before each event of the response. */
  | { kind: "unknown-events" }
  | { kind: "missing-end" }
  | { kind: "wrong-content-type"; contentType?: string }
  | { kind: "html" }
  /** Sends 50 MB of text by default. `oneEvent` puts all of it in one line of the stream. */
  | { kind: "huge"; bytes?: number; oneEvent?: boolean }
  | { kind: "unknown-tool"; name?: string }
  | { kind: "wrong-argument-types" }
  | { kind: "large-argument"; bytes?: number }
  | { kind: "same-tool-id-twice" };

/**
 * A fault and the model calls that it affects. Calls are numbered from 1, or chosen with the probability `chance`,
 * determined by the seed. `Step.faults` says which requests do not use up their step.
 */
export type PlannedFault = { fault: Fault } & (
  | { first: number }
  | { at: number | readonly number[] }
  | { chance: number }
);

/** Conditions for a request, all of which must hold. A string matches if the text that was sent contains it. */
export type Matcher = {
  systemContains?: string;
  firstUserContains?: string;
  lastUserContains?: string;
  toolResultContains?: string;
  /** Tool whose result is in the last message; "*" matches any tool. */
  afterTool?: string;
  /** Number of assistant messages in the request, plus 1. */
  turn?: number;
  model?: string;
  offersTool?: string;
  wire?: Wire;
};

/** Computes the reply to a request. */
export type ReplyFunction = (request: RecordedRequest, context: ScriptContext) => Reply | Promise<Reply>;

/** A reply and the requests that it answers. */
export type Step = {
  name?: string;
  when?: Matcher | ((request: RecordedRequest) => boolean);
  reply: Reply | ReplyFunction;
  /** Number of requests that this step answers (default 1). "always" answers any number, including none. */
  times?: number | "always";
  /**
   * Faults for the step's first requests, one per request. A request that gets no complete message does not use up the
   * step. This is the case after an error response, a cut, an error event, a missing end, truncated tool JSON with a
   * close, HTML, or a wrong content type.
   */
  faults?: readonly Fault[];
};

/** The replies for one agent, and the requests that belong to it. */
export type Conversation = {
  name?: string;
  /**
   * Requests that belong to the conversation. If absent, the conversation answers every request that no earlier
   * conversation matches.
   */
  match?: Matcher | ((request: RecordedRequest) => boolean);
  steps: readonly Step[];
};

/** The server's replies. A list may contain plain replies in place of steps that have only a reply. */
export type Script = ReplyFunction | readonly (Step | Reply)[] | { conversations: readonly Conversation[] };

/** The position of a request in the script, for a `ReplyFunction`. */
export type ScriptContext = {
  /** Number of this request among all model calls, starting at 1. */
  ordinal: number;
  /** Number of this request in its conversation or script, starting at 1. */
  count: number;
  /** Number of assistant messages in the request, plus 1. */
  turn: number;
  conversation: string;
  random: () => number;
};

/** Tokens of one request that were read from the prompt cache and written to it. */
export type CacheAccount = {
  /** Tokens in the whole prompt. */
  prompt: number;
  written: number;
  written1h: number;
  read: number;
  /** Tokens that could have been read but were not: idealRead - read, at least 0. */
  missed: number;
  /**
   * Tokens that an unlimited longest-common-prefix cache over all earlier requests would have read. A prefix below the
   * model's minimum is never read.
   */
  idealRead: number;
};

/** A request that the server received, and its response. */
export type RecordedRequest = {
  readonly ordinal: number;
  readonly wire: Wire | "models" | "unknown";
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Bytes of the body. In a light recording, empty once the response has been sent. */
  readonly rawBody: Buffer;
  readonly bodyBytes: number;
  /** Body, parsed on first use; undefined if it is not valid JSON. */
  readonly body: unknown;
  readonly model: string;
  readonly streaming: boolean;
  /** Value of stream_options.include_usage in the OpenAI wire format. */
  readonly streamsUsage: boolean;
  /** Time at which the headers arrived. */
  readonly beganAt: number;
  /** Time at which the end of the body arrived. */
  readonly arrivedAt: number;
  /** Number of the connection. Requests over one kept-alive connection have the same number. */
  readonly connection: number;
  status?: number;
  fault?: Fault;
  /** Why the validation rejected the request. */
  refusal?: string;
  unscripted?: string;
  cache?: CacheAccount;
  bytesSent: number;
  firstByteAt?: number;
  lastByteAt?: number;
  /** True if the client disconnected before the response was complete. */
  aborted: boolean;
  /** Resolves when the exchange is over, no matter how it ended. */
  readonly ended: Promise<void>;
};

export type ReadableAfter = "immediately" | "response-start" | "response-end";

/** Options for the server's prompt cache. */
export type CacheOptions = {
  readableAfter?: ReadableAfter;
  /**
   * Smallest cacheable prefix in the Anthropic wire format, in tokens, for all models or by model id (default 0; 512 to
   * 4096 in the real API).
   */
  minimumTokens?: number | Readonly<Record<string, number>>;
  /** Number of positions searched per mark, backwards from the mark (default 20). */
  lookBack?: number;
  /** Smallest cached prefix in all other wire formats, and the step by which it grows (default 1024 and 128). */
  openaiMinimumTokens?: number;
  openaiStepTokens?: number;
};

/** Options for `createApiServer`. */
export type ApiServerOptions = {
  script: Script;
  seed?: number;
  cache?: CacheOptions;
  faults?: readonly PlannedFault[];
  record?: "full" | "light";
  /** The only accepted key. By default any key is accepted, but a request without a key is rejected. */
  apiKey?: string;
  /** False to accept requests without a key, as local servers do. */
  requireKey?: boolean;
  /** Known models; requests for others are answered with 404. By default every model is known. */
  models?: readonly string[];
  /**
   * False to disable request validation. Otherwise, requests are checked as the provider checks them for the model that
   * they name. For example, Claude Fable 5.1, Opus 5.5 and Sonnet 5.5 refuse thinking if anything before it has changed
   * since the server sent it.
   */
  validate?: boolean;
  /**
   * By default, each reply without scripted thinking begins with a thinking block without text if the model always
   * thinks (Claude Fable 5.1, Opus 5.5, Sonnet 5.5 and later), or with a reasoning item without a summary in the
   * Responses API, and Gemini models sign their calls and texts, as in the providers' responses. False, or a light
   * recording, leaves all of this out.
   */
  thinks?: boolean;
  port?: number;
  /** Clock in milliseconds, used for times in records and the lifetime of cache entries. */
  now?: () => number;
};

/** A scripted model API server, created with `createApiServer`. */
export type ApiServer = {
  readonly url: string;
  readonly port: number;
  readonly seed: number;
  /** Every request in order of arrival, including those for lists of models and unknown paths. */
  readonly requests: readonly RecordedRequest[];
  /** Resolves to the n-th request (starting at 1) once its body has arrived. Rejects if the server closes first. */
  waitForRequest(n: number): Promise<RecordedRequest>;
  /** Throws if a request was unscripted or rejected, or if a step was not used. */
  assertDone(): void;
  /** Closes the server, including hanging responses and open connections. */
  close(): Promise<void>;
};
