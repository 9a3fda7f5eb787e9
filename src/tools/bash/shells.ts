import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { ReadOnlyView, Workspace } from "../../ports/index.ts";
import type { AgentId, CallId } from "../../protocol/index.ts";
import { type CommandOutput, createCommandOutput, type OutputLimits } from "./command-output.ts";
import { type CommandEnd, describeEnd, type RunningCommand, startCommand } from "./start-command.ts";

export interface Shell {
  readonly id: string;
  readonly command: string;
  readonly output: CommandOutput;
  /** How the shell ended; undefined while it is running. */
  readonly end: CommandEnd | undefined;
  /** True if the shell was stopped because its output exceeded the maximum size. */
  readonly overflowed: boolean;
  /** Settles when the shell itself has ended. Never rejects. */
  readonly exited: Promise<void>;
  /** Settles when there is new output, or when the shell ends. */
  news(): Promise<void>;
  /** Ends the shell. Settles when all its processes have ended. */
  kill(): Promise<void>;
  /** Explains how the sandbox affected the command, and what to do; undefined if it did not. */
  explain(output: string, failed: boolean): string | undefined;
}

export interface CommandPlace {
  readonly workspace: Workspace;
  /** Directory for the text of long output, until it is saved as a result. */
  readonly outputDirectory: string;
  readonly limits?: OutputLimits | undefined;
}

export interface Start extends CommandPlace {
  readonly agentId: AgentId;
  readonly callId: CallId;
  readonly command: string;
  readonly confined: boolean;
  /** Set if the command is allowed only because it is read-only. */
  readonly readsOnly?: ReadOnlyView | undefined;
  /**
   * True for a background shell, which can be found by its id until the agent is released. Other shells are forgotten
   * when they end.
   */
  readonly listed: boolean;
  readonly onOutput?: (output: CommandOutput) => void;
}

/** All commands that run for agents. Shared by Bash, BashOutput and KillShell. An agent sees only its own shells. */
export interface Shells {
  start(start: Start): Shell;
  find(agentId: AgentId, id: string): Shell | undefined;
  list(agentId: AgentId): readonly Shell[];
  /** Ends all of an agent's processes, including those left running by finished shells. */
  release(agentId: AgentId): Promise<void>;
}

const maxKept = 64;

/**
 * `instance` tags all commands. The tag distinguishes them from commands in other sessions with the same agent ids, and
 * lets a later process end commands that this process left behind when it was killed.
 */
export function createShells(instance: string = randomBytes(6).toString("hex")): Shells {
  const listed = new Map<AgentId, Map<string, Shell>>();
  const unlisted = new Map<AgentId, Set<Shell>>();
  let count = 0;

  return {
    start(request) {
      const { agentId } = request;
      if (request.listed) count += 1;
      const tag = `${instance}-${agentId}-${request.callId}`.replace(/[^\w.-]/g, "_");
      const shell = startShell(request, { id: `shell_${count}`, tag: [instance, tag] });
      if (request.listed) {
        const own = listed.get(agentId) ?? new Map<string, Shell>();
        listed.set(agentId, own.set(shell.id, shell));
        forgetOldest(own);
      } else {
        const own = unlisted.get(agentId) ?? new Set();
        unlisted.set(agentId, own.add(shell));
        // Processes that the shell left running are ended after the shell itself. Until then, `release` must find the
        // shell here and wait.
        void shell.exited.then(shell.kill).then(() => own.delete(shell));
      }
      return shell;
    },
    find: (agentId, id) => listed.get(agentId)?.get(id),
    list: (agentId) => [...(listed.get(agentId)?.values() ?? [])],
    async release(agentId) {
      const ends = [
        ...[...(unlisted.get(agentId) ?? [])].map((shell) => shell.kill()),
        ...[...(listed.get(agentId)?.values() ?? [])].map(forget),
      ];
      unlisted.delete(agentId);
      listed.delete(agentId);
      await Promise.all(ends);
    },
  };
}

function forgetOldest(own: Map<string, Shell>): void {
  for (const [id, shell] of own) {
    if (own.size <= maxKept) return;
    if (shell.end === undefined) continue;
    own.delete(id);
    void forget(shell);
  }
}

/** Ends a background shell, and removes its unread output. */
async function forget(shell: Shell): Promise<void> {
  await shell.kill();
  shell.output.discard();
}

function startShell(
  { workspace, outputDirectory, limits, callId, command, confined, readsOnly, onOutput }: Start,
  { id, tag }: { readonly id: string; readonly tag: readonly string[] },
): Shell {
  const output = createCommandOutput(join(outputDirectory, `${callId.replace(/[^\w-]/g, "_")}.txt`), limits);
  let end: CommandEnd | undefined;
  let overflowed = false;
  let killing: Promise<void> | undefined;
  let waiting: (() => void)[] = [];
  const tell = () => {
    const told = waiting;
    waiting = [];
    for (const wake of told) wake();
  };
  const running: RunningCommand = startCommand(workspace, {
    command,
    tag,
    callId,
    confined,
    readsOnly,
    onOutput(chunk, stream) {
      if (overflowed || end !== undefined) return;
      overflowed = !output.push(chunk, stream);
      if (overflowed) void running.end();
      onOutput?.(output);
      tell();
    },
  });
  const exited = running.exited.then((how) => {
    output.close();
    end = how;
    tell();
  });
  return {
    id,
    command,
    output,
    exited,
    get end() {
      return end;
    },
    get overflowed() {
      return overflowed;
    },
    news: () =>
      end !== undefined || output.hasNew ? Promise.resolve() : new Promise<void>((wake) => waiting.push(wake)),
    kill: () => {
      killing ??= running.end().then(() => exited);
      return killing;
    },
    explain: (text, failed) => running.explain(text, failed),
  };
}

export function describeShell({ id, end, overflowed }: Shell): string {
  if (overflowed) return `${id}: stopped because its output was too long.`;
  if (end === undefined) return `${id}: running.`;
  return `${id}: ${describeEnd(end) || "Exit code 0."}`;
}

export function noSuchShell(id: string, own: readonly Shell[]): string {
  if (own.length === 0) return `There is no shell ${id}. You have not started any background shells.`;
  return `There is no shell ${id}. Your background shells: ${own.map((shell) => shell.id).join(", ")}.`;
}
