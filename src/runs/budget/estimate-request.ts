import type { ModelDescription } from "../../ports/index.ts";
import { type CacheLifetime, highestPrices, type ReservedSpend } from "../../protocol/index.ts";
import type { BudgetEstimate } from "./budget.ts";

/** Maximum length of a response in tokens. A response is also limited to a quarter of the context window. */
const LONGEST_ANSWER = 32_000;
/** Minimum length in tokens. A shorter response is not worth the cost of its request. */
const SHORTEST_ANSWER = 1_024;

/** Returns the maximum length, in tokens, of the responses that agents request from this model. */
export function longestAnswer({
  maxOutputTokens,
  window,
}: Pick<ModelDescription, "maxOutputTokens" | "window">): number {
  return Math.min(maxOutputTokens, LONGEST_ANSWER, Math.floor(window / 4));
}

export interface PlannedRequest {
  /** Upper bound on the request's input tokens. */
  readonly inputTokens: number;
  readonly maxTokens: number;
  readonly cacheLifetime?: CacheLifetime | undefined;
}

export interface RequestEstimate extends BudgetEstimate {
  readonly inputTokens: number;
  readonly answer: NonNullable<BudgetEstimate["answer"]>;
}

/** Share of a prompt's tokens by which the real prompt may exceed the estimate, for example because of new tools. */
const LENGTH_MARGIN = 0.1;

/**
 * Returns the most that a request can cost, assuming that nothing is read from a cache and the response has its full
 * length. If long prompts have other prices, a prompt that is almost long counts as long, because exceeding the length
 * multiplies the cost of the whole request.
 */
export function estimateRequest(request: PlannedRequest, description: ModelDescription): RequestEstimate {
  const { model, prices, isSupplied } = description;
  const provider = isSupplied ? undefined : description.provider;
  const { inputTokens, maxTokens, cacheLifetime = "5m" } = request;
  const least = Math.min(maxTokens, SHORTEST_ANSWER);
  const tokens = inputTokens + maxTokens;
  if (!prices) return { tokens, model, provider, inputTokens, answer: { tokens: maxTokens, least, usdPerToken: 0 } };
  const { input, output } = highestPrices(inputTokens * (1 + LENGTH_MARGIN), prices, cacheLifetime);
  const usd = (inputTokens * input + maxTokens * output) / 1_000_000;
  const answer = { tokens: maxTokens, least, usdPerToken: output / 1_000_000 };
  return { tokens, usd, model, inputTokens, answer };
}

/** Converts an estimate to the reservation that the journal records. */
export function reservedSpend(
  { inputTokens, usd, answer }: RequestEstimate,
  { answerTokens }: { readonly answerTokens: number },
): ReservedSpend {
  const costUsd = usd === undefined ? undefined : usd - (answer.tokens - answerTokens) * answer.usdPerToken;
  return {
    inputTokens,
    outputTokens: answerTokens,
    costUsd,
    shortened: answerTokens < answer.tokens ? true : undefined,
  };
}
