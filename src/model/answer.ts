import type { ModelProgress } from "../ports/index.ts";
import type { AssistantBlock, CacheLifetime, CallId, ModelOutcome, Origin, Usage } from "../protocol/index.ts";

export type CompleteAnswer = Extract<ModelOutcome, { ok: true }>;

/** An error that the provider reported in the stream or in a response body, in the provider's own words. */
export interface ProviderError {
  readonly type: string;
  readonly message: string;
  /** Time to wait before the next attempt, if the error itself says so. */
  readonly retryAfterMs?: number | undefined;
}

/** Converts a response in one dialect to neutral blocks. */
export interface AnswerReader {
  /** Reads the data of one server-sent event. Returns a description of the problem if the data is invalid. */
  event(data: string): string | undefined;
  /** Reads a whole response that was not streamed. Returns a description of the problem if the response is invalid. */
  whole(body: unknown): string | undefined;
  /** Returns true once the protocol's end marker has been read, so nothing more will follow. */
  ended(): boolean;
  /** Called when the stream has been closed cleanly, which is how some servers end a complete response. */
  closed(): void;
  providerError(): ProviderError | undefined;
  answer(): CompleteAnswer;
  /** Returns the text and thinking received so far, without tool calls. */
  partial(): readonly AssistantBlock[];
  usage(): Usage | undefined;
}

export interface ReaderOptions {
  readonly origin: Origin;
  readonly callId: (index: number) => CallId;
  readonly emit: (progress: ModelProgress) => void;
  /** Requested cache lifetime; five minutes if absent. */
  readonly cacheLifetime?: CacheLifetime | undefined;
}

/**
 * Returns the complete JSON input of a tool call; undefined if the model did not finish writing it. Models often write
 * an empty string for "no arguments".
 */
export function completeInput(json: string, emptyIsComplete: boolean): string | undefined {
  if (json.trim() === "") return emptyIsComplete ? "{}" : undefined;
  const value = parseObject(json);
  return value === undefined || Array.isArray(value) ? undefined : json;
}

export function parseObject(json: string): object | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the error that a provider reports as a text or an object. */
export function providerErrorOf(value: unknown): ProviderError {
  if (typeof value === "string") return { type: "error", message: value };
  const { code, type, status, message, details } = value as Readonly<Record<string, unknown>>;
  const { error_code: detail } = { ...(details as { readonly error_code?: unknown } | undefined) };
  return {
    type:
      [type, code, detail, status, ...quotasIn(details)].filter((word) => typeof word === "string").join(" ") ||
      "error",
    message: String(message ?? ""),
    retryAfterMs: retryDelayIn(details),
  };
}

/** Returns how long to wait according to the details of one of Google's errors. */
function retryDelayIn(details: unknown): number | undefined {
  const delays = detailsIn(details).map(({ retryDelay }) => Number.parseFloat(String(retryDelay)));
  const seconds = delays.find((each) => each >= 0);
  return seconds === undefined ? undefined : Math.ceil(seconds * 1_000);
}

/** Returns the names of the quotas that were exceeded according to the details of one of Google's errors. */
function quotasIn(details: unknown): readonly unknown[] {
  return detailsIn(details).flatMap(({ violations, reason }) => [
    reason,
    ...(Array.isArray(violations) ? violations.map((each: { quotaId?: unknown } | null) => each?.quotaId) : []),
  ]);
}

function detailsIn(details: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(details) ? details.filter((each) => typeof each === "object" && each !== null) : [];
}

/** Replaces lone surrogates, which can't be sent back as UTF-8 and would make every later request invalid. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Returns a function that holds back the first half of a surrogate pair until the second half arrives. */
export function createPairKeeper(): (text: string) => string {
  let held = "";
  return (text) => {
    const whole = held + text;
    const last = whole.charCodeAt(whole.length - 1);
    if (last < 0xd800 || last > 0xdbff || whole === "") {
      held = "";
      return whole;
    }
    held = whole.slice(-1);
    return whole.slice(0, -1);
  };
}
