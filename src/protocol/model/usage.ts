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

/** Prices of a request, in US dollars per million tokens. */
export interface TokenPrices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  /** Price of cache writes with a lifetime of five minutes. */
  readonly cacheWrite: number;
  /** Price of cache writes with a lifetime of one hour. If absent, twice `input`, which is what providers charge. */
  readonly cacheWrite1h?: number | undefined;
}

/** Prices of a model. */
export interface Prices extends TokenPrices {
  /** Prices of requests with long prompts, if they differ. */
  readonly longPrompts?: readonly LongPromptPrices[] | undefined;
}

/** Prices of requests whose prompts are longer than a limit. They apply to all tokens of such a request. */
export interface LongPromptPrices extends TokenPrices {
  /**
   * Length in tokens that the prompt must exceed. Tokens that are read from a cache or written to it count as well. If
   * a prompt exceeds several lengths, the prices for the greatest of them apply.
   */
  readonly above: number;
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

/** Returns the length of a request's prompt in tokens, including those that were read from a cache or written to it. */
export function promptTokens({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

/**
 * Returns the cost of a request in US dollars. The usage must be that of one request that was sent once, because the
 * length of its prompt can determine the prices.
 */
export function costOf(usage: Usage, prices: Prices): number {
  const { cacheWrite1hTokens = 0 } = usage;
  const { input, output, cacheRead, ...write } = pricesFor(promptTokens(usage), prices);
  const millionths =
    usage.inputTokens * input +
    usage.cacheReadTokens * cacheRead +
    (usage.cacheWriteTokens - cacheWrite1hTokens) * write.cacheWrite +
    cacheWrite1hTokens * writePrice({ input, ...write }, "1h") +
    usage.outputTokens * output;
  return millionths / 1_000_000;
}

/** Returns the prices of a request whose prompt has this length in tokens. */
function pricesFor(prompt: number, prices: Prices): TokenPrices {
  let found: LongPromptPrices | undefined;
  for (const each of prices.longPrompts ?? []) {
    // Settings of several scopes may contain prices for the same length. Those of the highest scope come last.
    if (prompt > each.above && each.above >= (found?.above ?? 0)) found = each;
  }
  return found ?? prices;
}

/**
 * Returns the highest prices, per million tokens, of a request whose prompt has at most `longest` tokens and is cached
 * for the given time.
 */
export function highestPrices(
  longest: number,
  prices: Prices,
  lifetime: CacheLifetime,
): Pick<TokenPrices, "input" | "output"> {
  const possible = [prices, ...(prices.longPrompts ?? []).filter(({ above }) => longest > above)];
  return {
    input: Math.max(...possible.flatMap((each) => [each.input, writePrice(each, lifetime)])),
    output: Math.max(...possible.map(({ output }) => output)),
  };
}

/** Returns the price of writing to the provider's cache, per million tokens. */
function writePrice(
  { input, cacheWrite, cacheWrite1h = 2 * input }: Pick<TokenPrices, "input" | "cacheWrite" | "cacheWrite1h">,
  lifetime: CacheLifetime,
): number {
  return lifetime === "1h" ? cacheWrite1h : cacheWrite;
}
