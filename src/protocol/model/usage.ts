import type { CacheLifetime } from "./head.ts";

/** Tokens used by one or more requests. The three input counts do not overlap, so their sum is the whole input. */
export interface Usage {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of `cacheWriteTokens` with a lifetime of one hour. Absent if there is none. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly outputTokens: number;
}

/** Prices in US dollars per million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  /** Price of cache writes with a lifetime of five minutes. */
  readonly cacheWrite: number;
  /** Price of cache writes with a lifetime of one hour. If absent, twice `input`, which is what providers charge. */
  readonly cacheWrite1h?: number | undefined;
}

/**
 * The most that a request can cost. Reserved before the request is sent, and charged if the process ends before a
 * response is recorded.
 */
export interface ReservedSpend {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Absent if the model has no known price. */
  readonly costUsd?: number | undefined;
  /** Set if the budget had no room for a full-length response. */
  readonly shortened?: true | undefined;
}

export const noUsage: Usage = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

export function addUsage(left: Usage, right: Usage): Usage {
  const cacheWrite1hTokens = (left.cacheWrite1hTokens ?? 0) + (right.cacheWrite1hTokens ?? 0);
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    cacheReadTokens: left.cacheReadTokens + right.cacheReadTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
    cacheWrite1hTokens: cacheWrite1hTokens || undefined,
    outputTokens: left.outputTokens + right.outputTokens,
  };
}

/** Returns the usage of a request, including failed attempts. */
export function paidUsage({
  usage,
  lostUsage,
}: {
  readonly usage: Usage;
  readonly lostUsage?: Usage | undefined;
}): Usage {
  return lostUsage ? addUsage(usage, lostUsage) : usage;
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

/** Returns the price of writing to the provider's cache, per million tokens. */
export function writePrice({ input, cacheWrite, cacheWrite1h = 2 * input }: Prices, lifetime: CacheLifetime): number {
  return lifetime === "1h" ? cacheWrite1h : cacheWrite;
}
