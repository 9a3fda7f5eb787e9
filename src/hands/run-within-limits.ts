export type LimitedRun<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "timeout" }
  /** `value`: what it said when it was told to end, if it did so at once. */
  | { readonly kind: "cancelled"; readonly value?: T };

export interface RunLimits {
  readonly timeoutMs: number;
  readonly abortGraceMs: number;
  /** Somebody wants it to end. */
  readonly signal: AbortSignal;
}

/**
 * Always settles, whatever the work does: at its end, at the limit, or shortly after an abort. The work's own signal is
 * aborted in the last two cases; what it returns or throws later is dropped.
 */
export function runWithinLimits<T>(
  work: (signal: AbortSignal) => Promise<T>,
  limits: RunLimits,
): Promise<LimitedRun<T>> {
  const { signal, timeoutMs, abortGraceMs } = limits;
  if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
  return new Promise((resolve) => {
    const own = new AbortController();
    let aborted = false;
    let timer = setTimeout(onTimeout, Math.min(timeoutMs, LONGEST_TIMER));

    function settle(outcome: LimitedRun<T>): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      resolve(outcome);
    }
    function onTimeout(): void {
      own.abort(new Error("The time limit was reached."));
      settle({ kind: "timeout" });
    }
    function onAbort(): void {
      aborted = true;
      clearTimeout(timer);
      timer = setTimeout(() => settle({ kind: "cancelled" }), abortGraceMs);
      own.abort(signal.reason);
    }

    signal.addEventListener("abort", onAbort, { once: true });
    start(work, own.signal).then(
      (value) => settle(aborted ? { kind: "cancelled", value } : { kind: "done", value }),
      (error: unknown) => settle(aborted ? { kind: "cancelled" } : { kind: "failed", error }),
    );
  });
}

/** Node turns a longer delay into one millisecond. */
const LONGEST_TIMER = 2 ** 31 - 1;

async function start<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return work(signal);
}
