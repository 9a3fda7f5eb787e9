import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { TerminalInput } from "../../terminal/index.ts";

/** Key input from this process's terminal. All code that reads keys uses the same object. */
export interface TerminalKeys {
  /**
   * Reads single keys until the returned function is called. If there are several readers, the newest one gets the
   * keys. Without a reader, nothing is read, so that input typed ahead reaches the next program.
   */
  read(reader: KeyReader): () => void;
  readonly isReading: boolean;
}

export interface KeyReader {
  /** Receives the typed bytes, except for those of keys that send signals. */
  onKeys(bytes: Uint8Array): void;
  /** Called when this process continues in the foreground after it was stopped. */
  onContinued?(): void;
}

interface KeyOptions {
  readonly input: TerminalInput;
  /** Sends the signal to every process that the terminal itself would send it to. */
  readonly onSignal: (name: NodeJS.Signals) => void;
  /**
   * Returns whether this process may use the terminal now. The system stops background processes that use the terminal.
   */
  readonly isForeground: () => boolean;
  /**
   * Registers a listener that is called when this process continues after it was stopped. Returns a function that
   * removes the listener.
   */
  readonly onContinued: (listener: () => void) => () => void;
}

/** Signals by key code. The terminal sends them itself, except while single keys are read. */
const signals: Readonly<Record<number, NodeJS.Signals>> = { 3: "SIGINT", 26: "SIGTSTP", 28: "SIGQUIT" };

/** Returns the key input from standard input. `onStop` is called before another program takes over the terminal. */
export function standardKeys(onStop: () => void): TerminalKeys {
  return createTerminalKeys({
    // Standard input is opened when it is first read.
    get input() {
      return process.stdin;
    },
    onSignal: (name) => {
      if (name !== "SIGINT") onStop();
      process.kill(0, name);
    },
    isForeground,
    onContinued: (listener) => {
      process.on("SIGCONT", listener);
      return () => process.off("SIGCONT", listener);
    },
  });
}

/** Reads keys from a terminal, and sends the signals for some keys as the terminal would have. */
export function createTerminalKeys(options: KeyOptions): TerminalKeys {
  const { onSignal, isForeground, onContinued } = options;
  const readers: KeyReader[] = [];
  let isOn = false;
  let unregister = () => {};

  const onData = (bytes: Uint8Array): void => {
    const names = [...bytes].flatMap((byte) => signals[byte] ?? []);
    for (const name of names) {
      // The next program to use the terminal must find it in its normal mode.
      if (name !== "SIGINT") turn(false);
      onSignal(name);
    }
    if (names.length === 0) readers.at(-1)?.onKeys(bytes);
  };
  const turn = (on: boolean): void => {
    if (on === isOn) return;
    isOn = on;
    const { input } = options;
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
      options.input.off("data", onData);
      options.input.pause();
    }
    if (!isUsable) return;
    // A shell may have changed the terminal's mode since.
    turn(false);
    turn(true);
    readers.at(-1)?.onContinued?.();
  };
  const update = (): void => {
    const isWanted = readers.length > 0;
    unregister();
    unregister = isWanted ? onContinued(onContinue) : () => {};
    if (isForeground()) turn(isWanted);
  };
  return {
    read: (reader) => {
      readers.push(reader);
      if (readers.length === 1) update();
      return () => {
        const at = readers.indexOf(reader);
        if (at < 0) return;
        readers.splice(at, 1);
        if (readers.length === 0) update();
      };
    },
    get isReading() {
      return isOn;
    },
  };
}

/**
 * Returns whether this process receives the terminal's key input, which is not the case if a shell started it with `&`.
 */
export function isForeground(): boolean {
  try {
    const [, , group, , , foreground] = fieldsOf(readFileSync("/proc/self/stat", "latin1"));
    return group === foreground;
  } catch {
    return hasPlus();
  }
}

/**
 * Returns the fields after the program's name: state, parent, group, session, terminal and the terminal's group. The
 * name may contain spaces and parentheses.
 */
function fieldsOf(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * Returns whether this process is in the foreground, which `ps` shows as a plus in its state. Used on systems without
 * /proc.
 */
function hasPlus(): boolean {
  try {
    return execFileSync("ps", ["-o", "stat=", "-p", String(process.pid)], { encoding: "utf8" }).includes("+");
  } catch {
    return false;
  }
}
