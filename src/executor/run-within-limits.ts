import { LONGEST_TIMER_MS } from "../lib/index.ts";

export type LimitedRun<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "timeout" }
  /** The work was aborted. `value` is its result, if one arrived within the grace period. */
  | { readonly kind: "cancelled"; readonly value?: T | undefined };

export interface RunLimits {
  readonly timeoutMs: number;
  /** Time to wait for a result after the abort. */
  readonly abortGraceMs: number;
  readonly signal: AbortSignal;
  /** Functions that stop work in progress. The set contains this work's function while the work is running. */
  readonly running: Set<(reason: Error) => void>;
}

/**
 * Runs work and always settles: when the work finishes, at the time limit, or shortly after an abort. In the last two
 * cases, the signal passed to the work is aborted, and a later result or error is ignored.
 */
export function runWithinLimits<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs, abortGraceMs, running }: RunLimits,
): Promise<LimitedRun<T>> {
  if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
  return new Promise((resolve) => {
    const own = new AbortController();
    let timer = setTimeout(giveUp, Math.min(timeoutMs, LONGEST_TIMER_MS));
    const end = (reason: unknown) => {
      if (own.signal.aborted) return;
      clearTimeout(timer);
      timer = setTimeout(settle, abortGraceMs, { kind: "cancelled" });
      own.abort(reason);
    };
    const onAbort = () => end(signal.reason);

    function settle(outcome: LimitedRun<T>): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      running.delete(end);
      resolve(outcome);
    }
    function giveUp(): void {
      settle({ kind: "timeout" });
      own.abort(new Error("The time limit was reached."));
    }

    signal.addEventListener("abort", onAbort);
    running.add(end);
    start(work, own.signal).then(
      (value) => settle(own.signal.aborted ? { kind: "cancelled", value } : { kind: "done", value }),
      (error: unknown) => settle(own.signal.aborted ? { kind: "cancelled" } : { kind: "failed", error }),
    );
  });
}

async function start<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return work(signal);
}
