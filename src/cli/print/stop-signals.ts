import { monotonic } from "../../lib/index.ts";

/** Some launchers forward a Ctrl+C that the terminal has sent already; both count as one press. */
const SAME_PRESS_MS = 200;

const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type StopSignal = keyof typeof codes;

/**
 * Calls `stop` for the first signal; the next one ends the process at once. The returned function gives the exit code
 * of the signal that was received, if any.
 */
export function onStopSignal(stop: (signal: StopSignal) => void): () => number | undefined {
  let first: { readonly signal: StopSignal; readonly at: number } | undefined;
  const handle = (signal: StopSignal): void => {
    const now = monotonic();
    if (first === undefined) {
      first = { signal, at: now };
      stop(signal);
    } else if (now - first.at > SAME_PRESS_MS) process.exit(codes[signal]);
  };
  for (const signal of Object.keys(codes) as StopSignal[]) process.on(signal, handle);
  return () => first && codes[first.signal];
}
