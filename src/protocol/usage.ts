import type { CacheLifetime } from "./head.ts";

/** Tokens of one or several requests. The three input kinds are disjoint: their sum is the whole input. */
export interface Usage {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Of `cacheWriteTokens` those that are kept for an hour; absent: none. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly outputTokens: number;
}

/** US dollars per million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  /** Kept for five minutes. */
  readonly cacheWrite: number;
  /** Kept for an hour; absent: twice `input`, as providers charge. */
  readonly cacheWrite1h?: number | undefined;
}

/** The most a request can cost. It is set aside before the request is sent, and charged if the process is lost before an answer is recorded. */
export interface ReservedSpend {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Absent if the model has no known price. */
  readonly costUsd?: number | undefined;
  /** The budget had no room for an answer of full length. */
  readonly shortened?: true | undefined;
}

export const noUsage: Usage = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

export function addUsage(left: Usage, right: Usage): Usage {
  const cacheWrite1hTokens = (left.cacheWrite1hTokens ?? 0) + (right.cacheWrite1hTokens ?? 0);
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    cacheReadTokens: left.cacheReadTokens + right.cacheReadTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
    ...(cacheWrite1hTokens === 0 ? {} : { cacheWrite1hTokens }),
    outputTokens: left.outputTokens + right.outputTokens,
  };
}

/** Of an answer, with the tries before it that broke off. */
export function paidUsage(answer: { readonly usage: Usage; readonly lostUsage?: Usage | undefined }): Usage {
  return answer.lostUsage ? addUsage(answer.usage, answer.lostUsage) : answer.usage;
}

export function costOf(usage: Usage, prices: Prices): number {
  const { cacheWrite1hTokens = 0 } = usage;
  const millionths =
    usage.inputTokens * prices.input +
    usage.cacheReadTokens * prices.cacheRead +
    (usage.cacheWriteTokens - cacheWrite1hTokens) * prices.cacheWrite +
    cacheWrite1hTokens * writePrice(prices, "1h") +
    usage.outputTokens * prices.output;
  return millionths / 1_000_000;
}

/** Of a token that is written to a provider's cache. */
export function writePrice({ input, cacheWrite, cacheWrite1h = 2 * input }: Prices, lifetime: CacheLifetime): number {
  return lifetime === "1h" ? cacheWrite1h : cacheWrite;
}
