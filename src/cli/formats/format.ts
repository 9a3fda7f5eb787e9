import type { CacheReport, Session } from "../../app/index.ts";
import type { RunResult, RunUpdate } from "../../protocol/index.ts";

export type OutputFormat = "text" | "json" | "stream-json";

/** An error that happened before or outside of a run. */
export interface Failure {
  readonly message: string;
  readonly code: string;
}

/** Renders a run as text for standard output. The last call is to either `result` or `failure`. */
export interface Format {
  opened(session: Session): string;
  update(update: RunUpdate): string;
  /** Renders a message about the session, such as one about a command from another terminal. */
  notice?(message: string): string;
  result(result: RunResult, cache: CacheReport | undefined): string;
  failure(failure: Failure): string;
}
