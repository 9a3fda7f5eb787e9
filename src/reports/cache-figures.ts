import { type AgentId, addUsage, costOf, noUsage, type Prices, promptTokens, type Usage } from "../protocol/index.ts";
import type { CacheAccount } from "./cache-accounts.ts";

/** Cost of the input: actual, without a cache, and with an unlimited cache. */
export interface CacheFigures {
  readonly requests: number;
  /** Tokens by kind; `inputTokens` were neither read from a cache nor written to one. */
  readonly usage: Usage;
  readonly idealReadTokens: number;
  /**
   * Cost of the input, in tokens at the base price: a written token counts as 1.25 (2 if kept for an hour), a read one
   * as 0.1.
   */
  readonly baseTokens: Amounts;
  /** Cost in US dollars, including output; absent if a price is unknown. */
  readonly usd?: Amounts | undefined;
}

export interface Amounts {
  readonly spent: number;
  readonly withoutCache: number;
  readonly ideal: number;
}

export interface AgentFigures extends CacheFigures {
  readonly agentId: AgentId;
  readonly agentType: string;
}

export function figuresOf(accounts: readonly CacheAccount[]): CacheFigures {
  const answered = accounts.filter(({ request }) => request.answer !== undefined);
  const base = answered.map((account) => amountsOf(account, basePrices));
  const usd = answered.map((account) => usdOf(account));
  const isPriced = usd.every((amounts) => amounts !== undefined);
  return {
    requests: answered.length,
    usage: answered.reduce((sum, { usage }) => addUsage(sum, usage), noUsage),
    idealReadTokens: answered.reduce((sum, { idealTokens }) => sum + idealTokens, 0),
    baseTokens: rounded(total(base)),
    usd: isPriced ? total(usd) : undefined,
  };
}

/** Returns the main agent's figures, then those of the other agents in the order of their first requests. */
export function figuresByAgent(accounts: readonly CacheAccount[]): readonly AgentFigures[] {
  const byAgent = new Map<AgentId, CacheAccount[]>();
  for (const account of accounts) {
    const { agentId } = account.request;
    const own = byAgent.get(agentId);
    if (own) own.push(account);
    else byAgent.set(agentId, [account]);
  }
  return [...byAgent].map(([agentId, own]) => ({
    agentId,
    agentType: own[0]?.request.agentType ?? "",
    ...figuresOf(own),
  }));
}

/** Prices per million tokens, scaled so that one uncached input token costs 1. */
const basePrices: Prices = { input: 1e6, cacheRead: 0.1e6, cacheWrite: 1.25e6, cacheWrite1h: 2e6, output: 0 };

function amountsOf({ usage, missedTokens }: CacheAccount, prices: Prices): Amounts {
  const { outputTokens } = usage;
  const plain = { ...noUsage, inputTokens: promptTokens(usage), outputTokens };
  return {
    spent: costOf(usage, prices),
    withoutCache: costOf(plain, prices),
    ideal: costOf(withoutMiss(usage, missedTokens), prices),
  };
}

/**
 * Returns the usage as if the missed tokens had been read from the cache instead of being written again or sent
 * uncached.
 */
function withoutMiss(usage: Usage, missed: number): Usage {
  const written = Math.min(missed, usage.cacheWriteTokens);
  const { cacheWrite1hTokens = 0 } = usage;
  return {
    ...usage,
    // Tokens that are cached for an hour come first in a request, so missed tokens are counted as theirs first.
    cacheWrite1hTokens: Math.max(0, cacheWrite1hTokens - written),
    cacheReadTokens: usage.cacheReadTokens + missed,
    cacheWriteTokens: usage.cacheWriteTokens - written,
    inputTokens: usage.inputTokens - (missed - written),
  };
}

function usdOf(account: CacheAccount): Amounts | undefined {
  const { prices, answer } = account.request;
  if (prices === undefined) return undefined;
  const amounts = amountsOf(account, prices);
  return { ...amounts, spent: answer?.costUsd ?? amounts.spent };
}

function total(all: readonly Amounts[]): Amounts {
  const sum = (pick: (amounts: Amounts) => number): number => all.reduce((left, right) => left + pick(right), 0);
  return {
    spent: sum(({ spent }) => spent),
    withoutCache: sum(({ withoutCache }) => withoutCache),
    ideal: sum(({ ideal }) => ideal),
  };
}

function rounded({ spent, withoutCache, ideal }: Amounts): Amounts {
  return { spent: Math.round(spent), withoutCache: Math.round(withoutCache), ideal: Math.round(ideal) };
}
