import { isatty } from "node:tty";
import type { Session } from "../../app/index.ts";
import type { AgentView } from "../../client/index.ts";
import { plural } from "../../lib/index.ts";
import type { AgentId, RunUpdate } from "../../protocol/index.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { ShownProgress } from "../progress/progress.ts";
import type { TerminalKeys } from "./terminal-keys.ts";

export interface BackgroundKeyOptions {
  readonly session: Pick<Session, "moveToBackground" | "tools">;
  /** Views that observe each update before this object does. */
  readonly agents: AgentViews;
  readonly progress: ShownProgress;
  readonly keys: TerminalKeys;
}

export interface BackgroundKey {
  observe(update: RunUpdate): void;
  /** Restores the terminal. */
  release(): void;
}

const changes: readonly string[] = ["run.started", "run.backgrounded", "run.ended"];
const CTRL_B = 0x02;

/**
 * Handles Ctrl+B while the main agent is waiting for subagents: they are moved to the background, and the main agent
 * continues.
 */
export function createBackgroundKey({ session, agents, progress, keys }: BackgroundKeyOptions): BackgroundKey {
  // Sessions in which background agents are disabled don't have this tool.
  const isAllowed = session.tools.includes("TaskOutput");
  const isSupported = isAllowed && progress.isLive && process.platform !== "win32" && isatty(0);
  let stop: (() => void) | undefined;
  /** Background agents that the main agent is waiting for. */
  const awaited = new Set<AgentId>();
  const press = async (): Promise<void> => {
    const moved = await session.moveToBackground();
    if (moved.length > 0) progress.report(`Moved to the background: ${plural(moved.length, "agent")}.`);
  };
  const onKeys = (bytes: Uint8Array): void => {
    if (bytes.includes(CTRL_B)) void press();
  };
  const release = (): void => {
    stop?.();
    stop = undefined;
  };
  const listen = (): void => {
    const isAwaited = ({ agentId, path, background }: AgentView): boolean =>
      awaited.has(agentId) || (path.length === 1 && !background);
    const isWaiting = agents.inOrder().some((agent) => !agent.end && isAwaited(agent));
    if (isWaiting) stop ??= keys.read({ onKeys });
    else release();
    progress.hint(stop !== undefined && keys.isReading ? "Ctrl+B: background" : "");
  };
  return {
    observe: (update) => {
      if (update.type === "run.awaited") awaited.add(update.agentId);
      if (update.type === "wait.ended") awaited.delete(update.agentId);
      const isWait = update.type === "run.awaited" || update.type === "wait.ended";
      const isChange = update.type === "subagent.event" && changes.includes(update.event.type);
      if (isSupported && (isWait || isChange)) listen();
    },
    release,
  };
}
