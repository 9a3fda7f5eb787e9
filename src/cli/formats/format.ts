import type { CacheReport, Session } from "../../app/index.ts";
import type { RunResult, RunUpdate } from "../../protocol/index.ts";

/** What went wrong before there was a run, or outside of it. */
export interface Failure {
  readonly message: string;
  readonly code: string;
}

/** Turns a run into what is written to standard output. Exactly one of `result` and `failure` is called, last. */
export interface Format {
  opened(session: Session): string;
  update(update: RunUpdate): string;
  /** With what caches gave, where that is known. */
  result(result: RunResult, cache?: CacheReport): string;
  failure(failure: Failure): string;
}
