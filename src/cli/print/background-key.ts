import type { Session } from "../../app/index.ts";
import { plural } from "../../lib/index.ts";
import type { RunUpdate } from "../../protocol/index.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { ShownProgress } from "../progress/progress.ts";
import type { KeyOptions, TerminalKeys } from "./terminal-keys.ts";

export interface BackgroundKeyOptions {
  readonly session: Pick<Session, "moveToBackground" | "tools">;
  /** Observes each update before this does. */
  readonly agents: AgentViews;
  readonly progress: ShownProgress;
}

export interface BackgroundKey {
  observe(update: RunUpdate): Promise<void> | undefined;
  /** Restores the terminal. */
  release(): void;
}

const changes: readonly string[] = ["run.started", "run.backgrounded", "run.ended"];

/** Handles Ctrl+B while the main agent waits for agents: they continue in the background, and it continues too. */
export function createBackgroundKey({ session, agents, progress }: BackgroundKeyOptions): BackgroundKey {
  // If background agents are switched off, their tools are missing.
  const isAllowed = session.tools.includes("TaskOutput");
  const isSupported = isAllowed && progress.isLive && process.platform !== "win32";
  let keys: TerminalKeys | "none" | undefined;
  let isOver = false;
  const press = async (): Promise<void> => {
    const moved = await session.moveToBackground();
    if (moved.length > 0) progress.report(`Moved to the background: ${plural(moved.length, "agent")}.`);
  };
  const send = (name: NodeJS.Signals): void => {
    // While this process is stopped, other programs write where the lines were.
    if (name !== "SIGINT") progress.clear();
    process.kill(0, name);
  };
  const listen = async (): Promise<void> => {
    const isWaiting = agents.inOrder().some(({ path, end, background }) => path.length === 1 && !end && !background);
    if (isWaiting) keys ??= await openKeys({ onBackground: () => void press(), onSignal: send });
    if (isOver || keys === undefined || keys === "none") return;
    keys.listen(isWaiting);
    progress.hint(keys.isListening ? "Ctrl+B: background" : "");
  };
  return {
    observe: (update) => {
      const isChange = update.type === "subagent.event" && changes.includes(update.event.type);
      return isSupported && isChange ? listen() : undefined;
    },
    release: () => {
      isOver = true;
      if (keys !== "none") keys?.listen(false);
    },
  };
}

/** Loads its modules on demand, since most runs never wait for an agent. Returns `none` if standard input is no terminal. */
async function openKeys(on: Pick<KeyOptions, "onBackground" | "onSignal">): Promise<TerminalKeys | "none"> {
  const [{ isatty }, { createTerminalKeys, isForeground }] = await Promise.all([
    import("node:tty"),
    import("./terminal-keys.ts"),
  ]);
  if (!isatty(0)) return "none";
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
