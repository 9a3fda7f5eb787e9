import type { Session } from "../../app/index.ts";
import { plural } from "../../lib/index.ts";
import type { RunUpdate } from "../../protocol/index.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { ShownProgress } from "../progress/show-progress.ts";
import type { KeyOptions, TerminalKeys } from "./terminal-keys.ts";

export interface BackgroundKeyOptions {
  readonly session: Pick<Session, "moveToBackground" | "tools">;
  /** Have seen an update before this does. */
  readonly agents: AgentViews;
  readonly progress: ShownProgress;
}

export interface BackgroundKey {
  see(update: RunUpdate): Promise<void> | undefined;
  /** Gives the terminal back. */
  release(): void;
}

const changes: readonly string[] = ["run.started", "run.backgrounded", "run.ended"];

/** Ctrl+B, while the main agent waits for agents: they go on in the background, and so does it. */
export function createBackgroundKey({ session, agents, progress }: BackgroundKeyOptions): BackgroundKey {
  // Where work in the background is switched off, the tools to look after it are not there.
  const isAllowed = session.tools.includes("TaskOutput");
  const canBe = isAllowed && progress.isLive && process.platform !== "win32";
  let keys: TerminalKeys | "none" | undefined;
  let isOver = false;
  const press = async (): Promise<void> => {
    const moved = await session.moveToBackground();
    if (moved.length > 0) progress.tell(`Moved to the background: ${plural(moved.length, "agent")}.`);
  };
  const send = (name: NodeJS.Signals): void => {
    // Whoever has the terminal while this process is stopped writes where the lines were.
    if (name !== "SIGINT") progress.clear();
    process.kill(0, name);
  };
  const listen = async (): Promise<void> => {
    const isWaitedFor = agents.inOrder().some(({ path, end, background }) => path.length === 1 && !end && !background);
    if (isWaitedFor) keys ??= await openKeys({ onBackground: () => void press(), onSignal: send });
    if (isOver || keys === undefined || keys === "none") return;
    keys.listen(isWaitedFor);
    progress.hint(keys.isListening ? "Ctrl+B: background" : "");
  };
  return {
    see: (update) => {
      const isChange = update.type === "subagent.event" && changes.includes(update.event.type);
      return canBe && isChange ? listen() : undefined;
    },
    release: () => {
      isOver = true;
      if (keys !== "none") keys?.listen(false);
    },
  };
}

/** Loaded when there is somebody to wait for: most runs end before. `none`: standard input is no terminal. */
async function openKeys(on: Pick<KeyOptions, "onBackground" | "onSignal">): Promise<TerminalKeys | "none"> {
  const [{ isatty }, { createTerminalKeys }, { isForeground }] = await Promise.all([
    import("node:tty"),
    import("./terminal-keys.ts"),
    import("./is-foreground.ts"),
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
