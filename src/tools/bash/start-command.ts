import type { ReadOnlyView, RunningProcess, Workspace } from "../../ports/index.ts";

export type CommandEnd =
  | { readonly started: true; readonly code: number | null; readonly signal: string | null; readonly shell: string }
  | { readonly started: false; readonly failure: string };

export interface RunningCommand {
  /** Settles when the shell has ended; its children may still be running. Never rejects. */
  readonly exited: Promise<CommandEnd>;
  /** Ends the shell and everything it started. */
  end(): Promise<void>;
  /** Explains how the sandbox affected the command, and what to do; undefined if it did not. */
  explain(output: string, failed: boolean): string | undefined;
}

export interface CommandRequest {
  readonly command: string;
  /** Tags of the command, from the widest group to the command itself. */
  readonly tag: readonly string[];
  readonly callId: string;
  /** Runs the command in the sandbox. */
  readonly confined: boolean;
  /** Set if the command is allowed only because it is read-only. */
  readonly readsOnly?: ReadOnlyView | undefined;
  readonly onOutput: (chunk: Uint8Array, stream: "stdout" | "stderr") => void;
}

/** Runs a command in the root of the workspace, without input. Uses bash, or sh if there is no bash. */
export function startCommand(workspace: Workspace, request: CommandRequest): RunningCommand {
  const start = (shell: string, options: readonly string[]): RunningProcess =>
    workspace.spawn({
      command: shell,
      args: [...options, "-c", "--", request.command],
      cwd: workspace.root,
      env: { RETINUE_CALL_ID: request.callId },
      tag: request.tag,
      confined: request.confined,
      readsOnly: request.readsOnly,
      onOutput: request.onOutput,
    });
  let current = start("bash", ["--norc", "--noprofile"]);
  let ended = false;

  async function exit(): Promise<CommandEnd> {
    const first = await current.exited;
    if (first.failure === undefined) return { started: true, code: first.code, signal: first.signal, shell: "bash" };
    if (ended) return { started: false, failure: first.failure };
    current = start("sh", []);
    const second = await current.exited;
    if (second.failure === undefined) return { started: true, code: second.code, signal: second.signal, shell: "sh" };
    return { started: false, failure: `Neither bash nor sh could be started. ${first.failure} ${second.failure}` };
  }
  return {
    exited: exit(),
    async end() {
      ended = true;
      await current.end();
    },
    explain: (output, failed) => current.explain?.(output, failed),
  };
}

/** Describes how a command ended, for the model; empty for exit code 0. */
export function describeEnd(end: CommandEnd): string {
  if (!end.started) return end.failure;
  const shell = end.shell === "bash" ? "" : `bash is not available, so ${end.shell} ran the command.`;
  const how = end.signal !== null ? `Terminated by ${end.signal}.` : end.code === 0 ? "" : `Exit code ${end.code}.`;
  return [shell, how].filter((part) => part !== "").join(" ");
}

export function exitCodeOf(end: CommandEnd | undefined): number | null {
  return end?.started ? end.code : null;
}
