import type { ModelDescription, Prompt } from "../ports/index.ts";
import { type Head, type UserMessage, writePrice } from "../protocol/index.ts";
import type { BudgetEstimate } from "./budget.ts";

/** Bytes of a request for one token, at least. */
const BYTES_PER_TOKEN = 3;
/** What an answer usually stays below. Few come near a model's own limit, and a small budget must not fail on that. */
const USUAL_ANSWER = 4_096;

export interface NextRequest {
  readonly head: Head;
  /** The request before it. */
  readonly last: Prompt | undefined;
  /** What is said since. */
  readonly added: UserMessage | undefined;
}

/** What a request will take: nearly always more than it does. A longer answer is accounted all the same. */
export function estimateRequest(request: NextRequest, { model, prices }: ModelDescription): BudgetEstimate {
  const input = Math.ceil(bytesOf(request) / BYTES_PER_TOKEN);
  const output = Math.min(request.head.maxTokens, USUAL_ANSWER);
  if (prices === undefined) return { tokens: input + output, model };
  const written = writePrice(prices, request.head.cacheLifetime ?? "5m");
  const usd = (input * Math.max(prices.input, written) + output * prices.output) / 1_000_000;
  return { tokens: input + output, usd, model };
}

function bytesOf({ head, last, added }: NextRequest): number {
  const before = last === undefined ? JSON.stringify(head).length : lengthOf(last.body(last.head.dialect));
  return before + (added === undefined ? 0 : JSON.stringify(added).length);
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}
