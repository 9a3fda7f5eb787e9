import type { Output } from "../output.ts";
import type { AgentViews } from "./agent-views.ts";
import { createProgress, type Progress } from "./progress.ts";

const TICK_MS = 100;

export interface ShownProgress extends Progress {
  /** Whether lines are drawn over on a terminal. */
  readonly isLive: boolean;
  /** Waits until everything said has been written. */
  flushed(): Promise<void>;
}

export interface ShownOptions {
  readonly verbose: boolean;
  /** Notices only, on a terminal too. */
  readonly quiet: boolean;
  readonly agents: AgentViews;
}

/** Progress for this process: live where standard error is a terminal, only notices where it is not. */
export function showProgress(errors: Output, { verbose, quiet, agents }: ShownOptions): ShownProgress {
  const { env } = process;
  const live = errors.isTerminal && env["TERM"] !== "dumb" && !quiet;
  let last: Promise<void> = Promise.resolve();
  const progress = createProgress({
    write: (text) => {
      last = errors.write(text);
    },
    columns: () => process.stderr.columns || 80,
    rows: () => process.stderr.rows || 24,
    live,
    calls: (errors.isTerminal && !quiet) || verbose,
    agents,
    color: live && !env["NO_COLOR"],
    now: upTime,
  });
  const timer = live ? setInterval(() => progress.tick(), TICK_MS) : undefined;
  timer?.unref();
  return {
    ...progress,
    isLive: live,
    end: () => {
      clearInterval(timer);
      progress.end();
    },
    flushed: () => last,
  };
}

/** Milliseconds that only go up. The global `performance` would load its modules at every start. */
export function upTime(): number {
  return process.uptime() * 1000;
}
