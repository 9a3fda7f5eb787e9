import type { CacheReport, Session } from "../../app/index.ts";
import type { RunResult, RunUpdate } from "../../protocol/index.ts";

export type OutputFormat = "text" | "json" | "stream-json";

/** An error before or outside of a run. */
export interface Failure {
  readonly message: string;
  readonly code: string;
}

/** Renders a run as text for standard output. Exactly one of `result` and `failure` is called, as the last call. */
export interface Format {
  opened(session: Session): string;
  update(update: RunUpdate): string;
  /** Renders a message about the session, such as one about a command from another terminal. */
  notice?(message: string): string;
  result(result: RunResult, cache: CacheReport | undefined): string;
  failure(failure: Failure): string;
}
