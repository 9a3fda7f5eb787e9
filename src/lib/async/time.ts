import { uptime } from "node:process";

/** Longest delay that a timer accepts. Node treats a longer delay as one millisecond. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs `work` with a signal that aborts with the caller's signal, or with a TimeoutError after the time limit. Keeps
 * its own timer because `AbortSignal.any` references its sources weakly: a timeout signal may be garbage-collected
 * before it fires.
 */
export async function withTimeLimit<T>(
  signal: AbortSignal,
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const onAbort = () => own.abort(signal.reason);
  const timer = setTimeout(
    () => own.abort(new DOMException("The time limit was reached.", "TimeoutError")),
    Math.min(milliseconds, LONGEST_TIMER_MS),
  );
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort);
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Returns monotonic time in milliseconds. `performance.now()` would load several Node modules on its first use, and
 * `hrtime()` returns a new array each time.
 */
export function monotonic(): number {
  return uptime() * 1_000;
}
