/** Some launchers pass a Ctrl+C on that the terminal has sent already: those two are one. */
const SAME_PRESS_MS = 200;

const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
export type StopSignal = keyof typeof codes;

export interface Signals {
  /** The exit code of the signal that came, if one did. */
  code(): number | undefined;
  release(): void;
}

/** The first signal asks to stop; the next one ends the process where it stands. */
export function onStopSignal(stop: (signal: StopSignal) => void): Signals {
  let first: { readonly signal: StopSignal; readonly at: number } | undefined;
  const handle = (signal: StopSignal): void => {
    const now = performance.now();
    if (first === undefined) {
      first = { signal, at: now };
      stop(signal);
    } else if (now - first.at > SAME_PRESS_MS) process.exit(codes[signal]);
  };
  const signals = Object.keys(codes) as StopSignal[];
  for (const signal of signals) process.on(signal, handle);
  return {
    code: () => first && codes[first.signal],
    release: () => {
      for (const signal of signals) process.removeListener(signal, handle);
    },
  };
}
