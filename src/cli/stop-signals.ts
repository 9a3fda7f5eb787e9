import { type StopSignal, signalCodes, stopSignals } from "./exit-codes.ts";

export interface Leaving {
  /** Aborted when a signal asks this process to end. */
  readonly controller: AbortController;
  /** Returns the exit code for the signal that was received; undefined if there was none. */
  code(): number | undefined;
  /** Lets signals end the process again. */
  release(): void;
}

/** Makes Ctrl+C and other signals that end a process abort a controller instead. */
export function leaveOnSignal(): Leaving {
  const controller = new AbortController();
  let received: StopSignal | undefined;
  const leave = (signal: StopSignal): void => {
    received ??= signal;
    controller.abort();
  };
  for (const signal of stopSignals) process.on(signal, leave);
  return {
    controller,
    code: () => received && signalCodes[received],
    release: () => {
      for (const signal of stopSignals) process.off(signal, leave);
    },
  };
}
