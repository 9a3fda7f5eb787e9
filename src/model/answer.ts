import type { ModelProgress } from "../ports/index.ts";
import type { AssistantBlock, CacheLifetime, CallId, ModelOutcome, Origin, Usage } from "../protocol/index.ts";

export type CompleteAnswer = Extract<ModelOutcome, { ok: true }>;

/** An error the provider reported inside the stream or in a body, in the provider's own words. */
export interface ProviderError {
  readonly type: string;
  readonly message: string;
}

/** Makes neutral blocks of one dialect's answer. */
export interface AnswerReader {
  /** The data of one server-sent event. Returns what is wrong with it, if anything. */
  event(data: string): string | undefined;
  /** A whole answer that was not streamed. */
  whole(body: unknown): string | undefined;
  /** The protocol's own end marker was seen: nothing more will come. */
  ended(): boolean;
  /** The stream was closed cleanly; some servers end a complete answer this way. */
  closed(): void;
  providerError(): ProviderError | undefined;
  answer(): CompleteAnswer;
  /** Text and thinking so far, never a call. */
  partial(): readonly AssistantBlock[];
  usage(): Usage | undefined;
}

export interface ReaderOptions {
  readonly origin: Origin;
  readonly callId: (index: number) => CallId;
  readonly emit: (progress: ModelProgress) => void;
  /** What the request asks of the provider's cache; absent: five minutes. */
  readonly cacheLifetime?: CacheLifetime | undefined;
}

/** Empty is how models write "no arguments". Undefined: the model did not finish writing it. */
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

/** A lone surrogate can't be sent back as UTF-8, and one would spoil every later request. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Cuts deltas so that no half of a surrogate pair is shown. */
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
