import type { IncomingHttpHeaders } from "node:http";

export type Wire = "anthropic" | "openai";

/** The Anthropic names; the OpenAI wire maps them to its own finish reasons. */
export type StopReason =
  | "end_turn"
  | "tool_use"
  | "max_tokens"
  | "stop_sequence"
  | "refusal"
  | "pause_turn"
  | "model_context_window_exceeded";

/** A list gives the exact pieces of the stream; one string is cut into pieces of `chunkCharacters`. */
export type Pieces = string | readonly string[];

export type ToolPart = {
  tool: string;
  id?: string;
  /** Serialised by JSON.stringify; `inputJson` instead is sent verbatim, also when it is not JSON. */
  input?: unknown;
  inputJson?: Pieces;
};

export type ReplyPart =
  | string
  | { text: Pieces }
  | { thinking: Pieces; signature?: string }
  | { redactedThinking: string }
  | ToolPart
  /** Any other Anthropic content block (a provider's search, for example), sent whole in content_block_start. */
  | { block: Readonly<Record<string, unknown>> };

export type Pacing = {
  /** Before the response's headers. */
  delayMs?: number;
  /** Between the headers and the first byte of the body. */
  firstByteMs?: number;
  /** Before each further event. */
  chunkMs?: number;
  chunkCharacters?: number;
};

/** Any other usage than the computed one. */
export type UsageOverride = Partial<Usage>;

export type Usage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** Of these for an hour. */
  cacheWrite1hTokens: number;
};

export type Reply = {
  content: string | readonly ReplyPart[];
  /** Default: tool_use when there is a tool call, else end_turn. */
  stopReason?: StopReason;
  pacing?: Pacing;
  usage?: UsageOverride;
  headers?: Readonly<Record<string, string>>;
  fault?: Fault;
};

/** A count of body bytes, or a place chosen by the seed inside the body. */
export type AfterBytes = number | "random";

export type RetryAfter = { seconds: number } | { dateInSeconds: number } | { milliseconds: number };

export type Fault =
  | {
      kind: "status";
      status: number;
      retryAfter?: RetryAfter;
      errorType?: string;
      message?: string;
      /** Instead of the wire's own error object. */
      body?: string;
      headers?: Readonly<Record<string, string>>;
    }
  /** OpenAI: 429 insufficient_quota. Anthropic: billing_error with 429 or 402, or the credit message with 400. */
  | { kind: "spend-cap"; status?: 400 | 402 | 429 }
  /** Without `afterBytes` these three come before the headers. */
  | { kind: "hang"; afterBytes?: AfterBytes }
  | { kind: "close"; afterBytes?: AfterBytes }
  | { kind: "reset"; afterBytes?: AfterBytes }
  | { kind: "slow"; msPerByte: number }
  /** Every write carries this many bytes (default 1). */
  | { kind: "split"; bytes?: number }
  | { kind: "error-event"; afterEvents?: number; errorType?: string; message?: string }
  | { kind: "truncated-tool-json"; end: "close" | "max-tokens" }
  | { kind: "invalid-utf8" }
  | { kind: "duplicate-event"; event?: number }
  | { kind: "missing-end" }
  | { kind: "wrong-content-type"; contentType?: string }
  | { kind: "html" }
  /** Default 50 MB of text; `oneEvent` puts all of it on one line of the stream. */
  | { kind: "huge"; bytes?: number; oneEvent?: boolean }
  | { kind: "unknown-tool"; name?: string }
  | { kind: "wrong-argument-types" }
  | { kind: "large-argument"; bytes?: number }
  | { kind: "same-tool-id-twice" };

/**
 * Which requests get the fault, counted from 1 over all model calls; by `chance` under the seed.
 * Steps are used up as with a step's own faults.
 */
export type PlannedFault = { fault: Fault } & (
  | { first: number }
  | { at: number | readonly number[] }
  | { chance: number }
);

/** All given conditions must hold. Texts are compared as they were sent, by `includes`. */
export type Matcher = {
  systemContains?: string;
  firstUserContains?: string;
  lastUserContains?: string;
  toolResultContains?: string;
  /** The last message carries the result of a call to this tool; "*" for any tool. */
  afterTool?: string;
  /** 1 + the number of assistant messages in the request. */
  turn?: number;
  model?: string;
  offersTool?: string;
  wire?: Wire;
};

export type ReplyFunction = (request: RecordedRequest, context: ScriptContext) => Reply | Promise<Reply>;

export type Step = {
  name?: string;
  when?: Matcher | ((request: RecordedRequest) => boolean);
  reply: Reply | ReplyFunction;
  /** How many requests this step answers (default 1). "always" answers any number, also none. */
  times?: number | "always";
  /**
   * One per request before the step's own answer. An attempt that left no complete message does not use the step up:
   * an error answer, a cut, an error event, a missing end, truncated tool JSON with a close, HTML, a wrong content type.
   */
  faults?: readonly Fault[];
};

export type Conversation = {
  name?: string;
  /** A conversation without it takes every request that no earlier one took. */
  match?: Matcher | ((request: RecordedRequest) => boolean);
  steps: readonly Step[];
};

/** Plain replies may stand in a list where a step would have only a reply. */
export type Script = ReplyFunction | readonly (Step | Reply)[] | { conversations: readonly Conversation[] };

export type ScriptContext = {
  /** This request's number among all model calls, from 1. */
  ordinal: number;
  /** This request's number in its conversation (or in the script), from 1. */
  count: number;
  /** 1 + the number of assistant messages in the request. */
  turn: number;
  conversation: string;
  random: () => number;
};

export type CacheAccount = {
  /** Tokens of the whole prompt. */
  prompt: number;
  written: number;
  written1h: number;
  read: number;
  /** What was readable in principle and was not read: idealRead - read, at least 0. */
  missed: number;
  /** What an unlimited longest-common-prefix cache over all earlier requests would have read. */
  idealRead: number;
};

export type RecordedRequest = {
  readonly ordinal: number;
  readonly wire: Wire | "models" | "unknown";
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Empty after a light recording's answer was sent. */
  readonly rawBody: Buffer;
  readonly bodyBytes: number;
  /** Parsed on first use; undefined when it is not JSON. */
  readonly body: unknown;
  readonly model: string;
  readonly streaming: boolean;
  /** The OpenAI wire's stream_options.include_usage. */
  readonly streamsUsage: boolean;
  /** When its headers were there. */
  readonly beganAt: number;
  /** When its body was there too. */
  readonly arrivedAt: number;
  /** Requests over one kept-alive connection share it. */
  readonly connection: number;
  status?: number;
  fault?: Fault;
  /** Why the validation refused it. */
  refusal?: string;
  unscripted?: string;
  cache?: CacheAccount;
  bytesSent: number;
  firstByteAt?: number;
  lastByteAt?: number;
  /** The client closed before the answer was complete. */
  aborted: boolean;
  /** Settles when the exchange is over, however it ended. */
  readonly ended: Promise<void>;
};

export type ReadableAfter = "immediately" | "response-start" | "response-end";

export type CacheOptions = {
  readableAfter?: ReadableAfter;
  /** Smallest cacheable prefix in tokens (default 0; the real API has 1024 or more). */
  minimumTokens?: number;
  /** Positions looked at per mark, the mark's own first (default 20). */
  lookBack?: number;
  /** The OpenAI wire's smallest cached prefix and its step (1024 and 128). */
  openaiMinimumTokens?: number;
  openaiStepTokens?: number;
};

export type ApiServerOptions = {
  script: Script;
  seed?: number;
  cache?: CacheOptions;
  faults?: readonly PlannedFault[];
  record?: "full" | "light";
  /** The only accepted key. Default: any key is accepted, none is refused. */
  apiKey?: string;
  /** False accepts requests without a key, as local servers do. */
  requireKey?: boolean;
  /** Known models; any other is answered 404. Default: every model is known. */
  models?: readonly string[];
  /** False turns request validation off. */
  validate?: boolean;
  port?: number;
  /** Milliseconds, for times in records and the life of cache entries. */
  now?: () => number;
};

export type ApiServer = {
  readonly url: string;
  readonly port: number;
  readonly seed: number;
  /** Every request in order of arrival, GET /v1/models and unknown paths too. */
  readonly requests: readonly RecordedRequest[];
  /** The n-th request (from 1), when its body has arrived. Rejects when the server closes first. */
  waitForRequest(n: number): Promise<RecordedRequest>;
  /** Throws when a request was unscripted or refused, or a step was not used. */
  assertDone(): void;
  /** Ends hanging answers and open connections too. */
  close(): Promise<void>;
};
