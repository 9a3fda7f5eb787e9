import { createDeferred, createTextCollector } from "../lib/index.ts";
import type { RunningProcess, Workspace } from "../ports/index.ts";
import type { CommandHook } from "./hook.ts";

/** How a command came to its end, before anybody asks what that means. */
export type CommandRun =
  | { readonly ended: true; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** It could not be started, was broken off, took too long or said too much. */
  | { readonly ended: false; readonly failure: string };

export interface CommandPlace {
  readonly workspace: Workspace;
  /** From the widest group to the process itself. */
  readonly tag: readonly string[];
  readonly signal: AbortSignal;
  /** Hears when nothing of the process is left; that may be later than its end. */
  readonly onSwept: (swept: Promise<void>) => void;
}

/** A part of an answer could mean something else than the whole: what says more than this has not answered. */
const ANSWER_BYTES = 1_024 * 1_024;
const ERROR_BYTES = 16 * 1_024;

/** Gives the command the text to read. What it leaves running is ended with it. Never rejects. */
export async function runCommand(hook: CommandHook, stdin: string, place: CommandPlace): Promise<CommandRun> {
  const { signal, onSwept } = place;
  const broken = createDeferred<string>();
  const onAbort = (): void => broken.resolve(brokenOff(signal));
  if (signal.aborted) return { ended: false, failure: brokenOff(signal) };
  const stdout = createTextCollector({ headBytes: ANSWER_BYTES, tailBytes: 0 });
  const stderr = createTextCollector({ headBytes: ERROR_BYTES, tailBytes: ERROR_BYTES });
  const onOutput: Pipes["onOutput"] = (chunk, stream) => {
    (stream === "stdout" ? stdout : stderr).push(chunk);
    if (stdout.totalBytes > ANSWER_BYTES) broken.resolve("It said more than 1 MB.");
  };
  signal.addEventListener("abort", onAbort);
  let running = start(hook, place, { stdin, onOutput, shell: "bash" });
  let exit = await Promise.race([running.exited, broken.promise]);
  if (typeof exit === "object" && exit.failure !== undefined && hook.args === undefined) {
    running = start(hook, place, { stdin, onOutput, shell: "sh" });
    exit = await Promise.race([running.exited, broken.promise]);
  }
  signal.removeEventListener("abort", onAbort);
  onSwept(running.end());
  if (typeof exit === "string") return { ended: false, failure: exit };
  if (exit.failure !== undefined) return { ended: false, failure: exit.failure };
  if (exit.code === null) return { ended: false, failure: `It was ended by ${exit.signal ?? "a signal"}.` };
  return { ended: true, code: exit.code, stdout: stdout.collected().text, stderr: stderr.collected().text };
}

interface Pipes {
  readonly stdin: string;
  readonly onOutput: (chunk: Uint8Array, stream: "stdout" | "stderr") => void;
  /** For a command line. */
  readonly shell: "bash" | "sh";
}

function start(
  { command, args, pluginRoot }: CommandHook,
  { workspace, tag }: CommandPlace,
  { shell, ...pipes }: Pipes,
): RunningProcess {
  const options = shell === "bash" ? ["--norc", "--noprofile"] : [];
  const program = args === undefined ? { command: shell, args: [...options, "-c", "--", command] } : { command, args };
  const plugin = pluginRoot === undefined ? {} : { RETINUE_PLUGIN_ROOT: pluginRoot, CLAUDE_PLUGIN_ROOT: pluginRoot };
  return workspace.spawn({
    ...program,
    cwd: workspace.root,
    env: { RETINUE_PROJECT_DIR: workspace.root, CLAUDE_PROJECT_DIR: workspace.root, ...plugin },
    tag,
    ...pipes,
  });
}

function brokenOff({ reason }: AbortSignal): string {
  return isTimeout(reason) ? "It did not end within its time limit." : "It was broken off.";
}

export function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
