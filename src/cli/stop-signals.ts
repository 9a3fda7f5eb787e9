import { monotonic } from "../lib/index.ts";
import { type StopSignal, signalCodes, stopSignals } from "./exit-codes.ts";

export interface Stopping {
  /** Returns the exit code for the signal that was received first; undefined if there was none. */
  code(): number | undefined;
  /** Lets signals end the process again. */
  release(): void;
}

export interface StopOptions {
  /** Called for the first signal. The command should then end by itself. */
  readonly stop: (signal: StopSignal) => void;
  /** Called before the process ends without waiting for the command any longer. */
  readonly onExit?: (() => void) | undefined;
}

/**
 * Time within which two interrupt signals are treated as one press of Ctrl+C, because some launchers forward a signal
 * that the terminal has already sent.
 */
const SAME_PRESS_MS = 200;

/** Time that a command has to end after the first signal. Everything that it has recorded is safe. */
const LIMIT_MS = 10_000;

/**
 * Handles Ctrl+C and the other signals that end a process: the first one asks the command to end. The second one ends
 * the process immediately, and so does the time limit.
 */
export function onStopSignal({ stop, onExit }: StopOptions): Stopping {
  let first: { readonly signal: StopSignal; readonly at: number } | undefined;
  let limit: NodeJS.Timeout | undefined;
  const exit = (signal: StopSignal): void => {
    onExit?.();
    process.exit(signalCodes[signal]);
  };
  const handle = (signal: StopSignal): void => {
    const at = monotonic();
    if (first === undefined) {
      first = { signal, at };
      limit = setTimeout(exit, LIMIT_MS, signal).unref();
      stop(signal);
    } else if (at - first.at > SAME_PRESS_MS) exit(signal);
  };
  for (const signal of stopSignals) process.on(signal, handle);
  return {
    code: () => first && signalCodes[first.signal],
    release: () => {
      clearTimeout(limit);
      for (const signal of stopSignals) process.off(signal, handle);
    },
  };
}

export interface Leaving extends Stopping {
  /** Aborted by the first signal. */
  readonly controller: AbortController;
}

/** Makes the first signal that asks this process to end abort a controller. */
export function leaveOnSignal(): Leaving {
  const controller = new AbortController();
  return { controller, ...onStopSignal({ stop: () => controller.abort() }) };
}
