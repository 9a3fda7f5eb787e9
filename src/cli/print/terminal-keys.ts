import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** The methods of a terminal's input that are used here. */
export interface KeyInput {
  setRawMode(isRaw: boolean): unknown;
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  off(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export interface KeyOptions {
  readonly input: KeyInput;
  readonly onBackground: () => void;
  /** Sends the signal to every process that the terminal itself would send it to. */
  readonly onSignal: (name: NodeJS.Signals) => void;
  /** Whether this process may use the terminal now. The system stops a background process that does. */
  readonly isForeground: () => boolean;
  /** Registers a listener for when this process continues after it was stopped. Returns a function that removes it. */
  readonly onContinued: (listener: () => void) => () => void;
}

export interface TerminalKeys {
  /** Turns reading of single keys on or off. Off by default, so that input typed ahead reaches the next program. */
  listen(isWanted: boolean): void;
  readonly isListening: boolean;
}

const CTRL_B = 0x02;

/** Signals that the terminal sends by itself unless single keys are read. */
const signals: Readonly<Record<number, NodeJS.Signals>> = { 3: "SIGINT", 26: "SIGTSTP", 28: "SIGQUIT" };

/** Reads Ctrl+B from a terminal, and sends the signals of other keys as the terminal would have done. */
export function createTerminalKeys({
  input,
  onBackground,
  onSignal,
  isForeground,
  onContinued,
}: KeyOptions): TerminalKeys {
  let isWanted = false;
  let isOn = false;
  let unregister = () => {};

  const onData = (bytes: Uint8Array): void => {
    for (const byte of bytes) {
      const name = signals[byte];
      if (byte === CTRL_B) onBackground();
      if (name === undefined) continue;
      // The next program to use the terminal must find it in its normal mode.
      if (name !== "SIGINT") turn(false);
      onSignal(name);
    }
  };
  const turn = (on: boolean): void => {
    if (on === isOn) return;
    isOn = on;
    input.setRawMode(on);
    if (on) input.on("data", onData);
    else input.off("data", onData);
    if (on) input.resume();
    else input.pause();
  };
  const onContinue = (): void => {
    const isUsable = isForeground();
    // A background process must not touch the terminal, not even to restore it.
    if (isOn && !isUsable) {
      isOn = false;
      input.off("data", onData);
      input.pause();
    }
    if (!isUsable) return;
    // A shell may have changed its mode in the meantime.
    turn(false);
    turn(isWanted);
  };
  return {
    listen: (wanted) => {
      if (wanted === isWanted) return;
      isWanted = wanted;
      unregister();
      unregister = wanted ? onContinued(onContinue) : () => {};
      if (isForeground()) turn(wanted);
    },
    get isListening() {
      return isOn;
    },
  };
}

/** Whether the terminal's keys go to this process, and not to a shell that started it with `&`. */
export function isForeground(): boolean {
  try {
    const [, , group, , , foreground] = fieldsOf(readFileSync("/proc/self/stat", "latin1"));
    return group === foreground;
  } catch {
    return hasPlus();
  }
}

/** Returns the fields after the program's name, which may contain spaces and parentheses: state, parent, group, session, terminal, the terminal's group. */
function fieldsOf(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Used without /proc: a plus in the state of a process means that it is in the foreground. */
function hasPlus(): boolean {
  try {
    return execFileSync("ps", ["-o", "stat=", "-p", String(process.pid)], { encoding: "utf8" }).includes("+");
  } catch {
    return false;
  }
}
