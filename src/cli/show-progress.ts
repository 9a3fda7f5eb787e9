import type { Output } from "./output.ts";
import { createProgress, type Progress } from "./progress.ts";

const TICK_MS = 100;

export interface ShownProgress extends Progress {
  /** Waits until everything said has been written. */
  flushed(): Promise<void>;
}

/** Progress for this process: live where standard error is a terminal, only notices where it is not. */
export function showProgress(errors: Output, { verbose }: { readonly verbose: boolean }): ShownProgress {
  const { env } = process;
  const live = errors.isTerminal && env["TERM"] !== "dumb";
  let last: Promise<void> = Promise.resolve();
  const progress = createProgress({
    write: (text) => {
      last = errors.write(text);
    },
    columns: () => process.stderr.columns || 80,
    live,
    calls: errors.isTerminal || verbose,
    color: live && !env["NO_COLOR"],
    // The global `performance` would load its modules at every start.
    now: () => process.uptime() * 1000,
  });
  const timer = live ? setInterval(() => progress.tick(), TICK_MS) : undefined;
  timer?.unref();
  return {
    ...progress,
    end: () => {
      clearInterval(timer);
      progress.end();
    },
    flushed: () => last,
  };
}
