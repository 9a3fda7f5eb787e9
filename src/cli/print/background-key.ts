import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import type { Session } from "../../app/index.ts";
import { plural } from "../../lib/index.ts";
import type { RunUpdate } from "../../protocol/index.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { ShownProgress } from "../progress/progress.ts";

export interface BackgroundKeyOptions {
  readonly session: Pick<Session, "moveToBackground" | "tools">;
  /** Views that observe each update before this object does. */
  readonly agents: AgentViews;
  readonly progress: ShownProgress;
}

export interface BackgroundKey {
  observe(update: RunUpdate): void;
  /** Restores the terminal. */
  release(): void;
}

const changes: readonly string[] = ["run.started", "run.backgrounded", "run.ended"];

/**
 * Handles Ctrl+B while the main agent waits for subagents: they are moved to the background, and the main agent
 * continues.
 */
export function createBackgroundKey({ session, agents, progress }: BackgroundKeyOptions): BackgroundKey {
  // If background agents are disabled, the tools for them are missing.
  const isAllowed = session.tools.includes("TaskOutput");
  const isSupported = isAllowed && progress.isLive && process.platform !== "win32" && isatty(0);
  let keys: TerminalKeys | undefined;
  const press = async (): Promise<void> => {
    const moved = await session.moveToBackground();
    if (moved.length > 0) progress.report(`Moved to the background: ${plural(moved.length, "agent")}.`);
  };
  const send = (name: NodeJS.Signals): void => {
    // While this process is stopped, other programs write to the rows of the live lines.
    if (name !== "SIGINT") progress.clear();
    process.kill(0, name);
  };
  const listen = (): void => {
    const isWaiting = agents.inOrder().some(({ path, end, background }) => path.length === 1 && !end && !background);
    if (isWaiting) keys ??= openKeys({ onBackground: () => void press(), onSignal: send });
    if (keys === undefined) return;
    keys.listen(isWaiting);
    progress.hint(keys.isListening ? "Ctrl+B: background" : "");
  };
  return {
    observe: (update) => {
      const isChange = update.type === "subagent.event" && changes.includes(update.event.type);
      if (isSupported && isChange) listen();
    },
    release: () => keys?.listen(false),
  };
}

function openKeys(on: Pick<KeyOptions, "onBackground" | "onSignal">): TerminalKeys {
  return createTerminalKeys({
    ...on,
    input: process.stdin,
    isForeground,
    onContinued: (listener) => {
      process.on("SIGCONT", listener);
      return () => process.off("SIGCONT", listener);
    },
  });
}

/** Methods of a terminal's input that are used here. */
export interface KeyInput {
  setRawMode(isRaw: boolean): unknown;
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  off(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

interface KeyOptions {
  readonly input: KeyInput;
  readonly onBackground: () => void;
  /** Sends the signal to every process that the terminal itself would send it to. */
  readonly onSignal: (name: NodeJS.Signals) => void;
  /** Returns whether this process may use the terminal now. The system stops background processes that use it. */
  readonly isForeground: () => boolean;
  /** Registers a listener for when this process continues after it was stopped. Returns a function that removes it. */
  readonly onContinued: (listener: () => void) => () => void;
}

interface TerminalKeys {
  /**
   * Turns reading of single keys on or off. It is off by default, so that input typed ahead reaches the next program.
   */
  listen(isWanted: boolean): void;
  readonly isListening: boolean;
}

const CTRL_B = 0x02;

/** Signals that the terminal itself sends, unless single keys are read. */
const signals: Readonly<Record<number, NodeJS.Signals>> = { 3: "SIGINT", 26: "SIGTSTP", 28: "SIGQUIT" };

/** Reads Ctrl+B from a terminal, and sends the signals for other keys as the terminal would have. */
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
    // A shell may have changed the terminal's mode in the meantime.
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

/** Returns whether this process receives the terminal's keys. It does not if a shell started it with `&`. */
function isForeground(): boolean {
  try {
    const [, , group, , , foreground] = fieldsOf(readFileSync("/proc/self/stat", "latin1"));
    return group === foreground;
  } catch {
    return hasPlus();
  }
}

/**
 * Returns the fields after the program's name: state, parent, group, session, terminal, the terminal's group. The name may contain spaces and parentheses.
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
