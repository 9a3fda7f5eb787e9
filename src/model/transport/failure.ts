import type { ModelError, ModelErrorCode } from "../../protocol/index.ts";

/** `few`: a server that answers wrongly or not at all is asked again, but not for an hour. */
export type Retry = "no" | "few" | "yes";

/** What went wrong with one try, and what may be done about it. */
export interface Failure {
  readonly error: ModelError;
  readonly retry: Retry;
  /** The server asked to wait at least this long. */
  readonly retryAfterMs?: number;
  /**
   * How the provider pushed back. `refused`: because of its limits, or with a time to wait, which may concern all
   * requests of this process. `overloaded`: it failed without saying more, which may concern only this one.
   */
  readonly pushback?: "refused" | "overloaded";
}

interface FailureDetails {
  readonly message: string;
  readonly retry?: Retry;
  readonly status?: number;
}

export function failure(code: ModelErrorCode, { message, retry = "no", status }: FailureDetails): Failure {
  return { error: { code, message, ...(status === undefined ? {} : { status }) }, retry };
}
