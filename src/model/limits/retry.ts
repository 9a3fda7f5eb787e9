import { formatDuration } from "../../lib/index.ts";
import type { Failure } from "../transport/failure.ts";

export interface RetryPolicy {
  readonly maxAttempts: number;
  /** Maximum number of attempts for servers that send invalid responses or none. */
  readonly fewAttempts: number;
  /** Longest delay after the first attempt. The longest delay doubles with every attempt, up to `capMs`. */
  readonly baseMs: number;
  readonly capMs: number;
  /** Longest wait that a server can request. If a server requests a longer wait, that is reported as an error. */
  readonly longestWaitMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 10,
  fewAttempts: 3,
  baseMs: 500,
  capMs: 60_000,
  longestWaitMs: 600_000,
};

export type RetryDecision =
  | { readonly again: true; readonly delayMs: number; readonly maxAttempts: number }
  | { readonly again: false; readonly failure: Failure };

interface RetrySituation {
  /** Number of attempts so far, at least 1. */
  readonly attempt: number;
  readonly policy: RetryPolicy;
  readonly random: () => number;
}

export function decideRetry(failed: Failure, { attempt, policy, random }: RetrySituation): RetryDecision {
  if (failed.retry === "no") return { again: false, failure: failed };
  const { retryAfterMs = 0 } = failed;
  if (retryAfterMs > policy.longestWaitMs) return { again: false, failure: waitTooLong(failed, retryAfterMs) };
  const maxAttempts = failed.retry === "few" ? Math.min(policy.fewAttempts, policy.maxAttempts) : policy.maxAttempts;
  if (attempt >= maxAttempts) return { again: false, failure: usedUp(failed, attempt) };
  return { again: true, delayMs: Math.max(retryAfterMs, backoff(attempt, policy, random)), maxAttempts };
}

/** Returns 50 to 100% of a delay that doubles with each attempt, so that requests that failed together spread out. */
function backoff(attempt: number, { baseMs, capMs }: RetryPolicy, random: () => number): number {
  const longest = Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(longest * (0.5 + 0.5 * random()));
}

function waitTooLong(failed: Failure, retryAfterMs: number): Failure {
  const wait = formatDuration(retryAfterMs);
  return withMessage(
    failed,
    `${sentence(failed.error.message)} The provider asked to wait ${wait}. Try again after that.`,
  );
}

function usedUp(failed: Failure, attempts: number): Failure {
  if (attempts < 2) return failed;
  return withMessage(failed, `${sentence(failed.error.message)} (Tried ${attempts} times.)`);
}

function withMessage(failed: Failure, message: string): Failure {
  return { ...failed, error: { ...failed.error, message } };
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
