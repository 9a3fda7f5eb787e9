import {
  addUsage,
  costOf,
  type ModelOutcome,
  noUsage,
  type Prices,
  paidUsage,
  type Usage,
} from "../../protocol/index.ts";
import type { Spent } from "./budget.ts";

/** Cost of a request that may be sent several times. */
export interface RequestBill {
  /** Returns the cost of one attempt. */
  costOf(attempt: Usage): Spent;
  /** Adds an attempt that failed and is repeated. Returns its cost. */
  addLost(attempt: Usage): Spent;
  /** Returns the cost of all attempts. Returns undefined if the request cost nothing. */
  total(outcome: ModelOutcome): Spent | undefined;
}

/**
 * Creates a request's bill. Each attempt is priced separately, because the sum of several prompts would look like one
 * long prompt, which can have other prices.
 */
export function createRequestBill(prices: Prices | undefined): RequestBill {
  let lost = noUsage;
  let lostUsd = 0;
  const usdOf = (...attempts: readonly Usage[]): number | undefined =>
    prices && attempts.reduce((sum, attempt) => sum + costOf(attempt, prices), 0);
  return {
    costOf: (attempt) => ({ usage: attempt, costUsd: usdOf(attempt) }),
    addLost: (attempt) => {
      const costUsd = usdOf(attempt);
      lost = addUsage(lost, attempt);
      lostUsd += costUsd ?? 0;
      return { usage: attempt, costUsd };
    },
    total: (outcome) => {
      const usage = outcome.ok ? paidUsage(outcome) : outcome.usage;
      if (usage === undefined) return undefined;
      const last = outcome.ok
        ? usdOf(outcome.usage, withoutUsage(outcome.lostUsage ?? noUsage, lost))
        : usdOf(withoutUsage(usage, lost));
      return { usage, costUsd: last === undefined ? undefined : lostUsd + last };
    },
  };
}

/** Returns the part of a usage that remains without another one. */
function withoutUsage(usage: Usage, other: Usage): Usage {
  const left = (count: keyof Usage): number => Math.max(0, (usage[count] ?? 0) - (other[count] ?? 0));
  return {
    inputTokens: left("inputTokens"),
    cacheReadTokens: left("cacheReadTokens"),
    cacheWriteTokens: left("cacheWriteTokens"),
    cacheWrite1hTokens: left("cacheWrite1hTokens"),
    outputTokens: left("outputTokens"),
  };
}
