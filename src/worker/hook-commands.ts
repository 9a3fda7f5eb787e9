import { createDeferred, createTextCollector, withTimeLimit } from "../lib/index.ts";
import type { HookInvocation, HookRun, RunningProcess, Workspace } from "../ports/index.ts";
import type { SessionId } from "../protocol/index.ts";

/** Hook commands that run for a session. */
export interface HookCommands {
  /** Runs a command within its time limit. Ends processes that the command leaves running. Never rejects. */
  run(hook: HookInvocation, signal: AbortSignal): Promise<HookRun>;
  /** Settles when all processes that commands started have ended. */
  close(): Promise<void>;
}

export interface HookCommandsOptions {
  /** Workspace in which commands run. */
  readonly workspace: Workspace;
  readonly sessionId: SessionId;
}

export function createHookCommands({ workspace, sessionId }: HookCommandsOptions): HookCommands {
  const sweeps = new Set<Promise<void>>();
  let count = 0;
  const onSwept = (swept: Promise<void>): void => {
    sweeps.add(swept);
    void swept.catch(() => undefined).finally(() => sweeps.delete(swept));
  };
  return {
    run: (hook, signal) => {
      count += 1;
      const tag = [sessionId, `${sessionId}-hook-${hook.agentId}-${count}`.replaceAll(/[^\w.-]/g, "_")];
      return withTimeLimit(signal, hook.seconds * 1_000, (own) =>
        runCommand(hook, { workspace, tag, onSwept, signal: own }),
      );
    },
    close: async () => void (await Promise.allSettled(sweeps)),
  };
}

interface CommandContext extends Pick<HookCommandsOptions, "workspace"> {
  /** Tags of the process, from the widest group to the process itself. */
  readonly tag: readonly string[];
  readonly signal: AbortSignal;
  /**
   * Called with a promise that settles when all of the hook's processes have ended, which may be later than the end of
   * the hook itself.
   */
  readonly onSwept: (swept: Promise<void>) => void;
}

/**
 * Maximum size of an answer. A longer answer is treated as a failure, because a truncated one could have a different
 * meaning.
 */
const ANSWER_BYTES = 1_024 * 1_024;
const ERROR_BYTES = 16 * 1_024;

async function runCommand(hook: HookInvocation, context: CommandContext): Promise<HookRun> {
  const { signal, onSwept } = context;
  const broken = createDeferred<string>();
  const onAbort = (): void => broken.resolve(describeAbort(signal));
  if (signal.aborted) return { ended: false, failure: describeAbort(signal) };
  const stdout = createTextCollector({ headBytes: ANSWER_BYTES, tailBytes: 0 });
  const stderr = createTextCollector({ headBytes: ERROR_BYTES, tailBytes: ERROR_BYTES });
  const onOutput: Pipes["onOutput"] = (chunk, stream) => {
    (stream === "stdout" ? stdout : stderr).push(chunk);
    if (stdout.totalBytes > ANSWER_BYTES) broken.resolve("It wrote more than 1 MB.");
  };
  signal.addEventListener("abort", onAbort);
  let running = start(hook, context, { onOutput, shell: "bash" });
  let exit = await Promise.race([running.exited, broken.promise]);
  if (typeof exit === "object" && exit.failure !== undefined && hook.args === undefined) {
    running = start(hook, context, { onOutput, shell: "sh" });
    exit = await Promise.race([running.exited, broken.promise]);
  }
  signal.removeEventListener("abort", onAbort);
  onSwept(running.end());
  if (typeof exit === "string") return { ended: false, failure: exit };
  if (exit.failure !== undefined) return { ended: false, failure: exit.failure };
  if (exit.code === null) return { ended: false, failure: `It was terminated by ${exit.signal ?? "a signal"}.` };
  return { ended: true, code: exit.code, stdout: stdout.collected().text, stderr: stderr.collected().text };
}

interface Pipes {
  readonly onOutput: (chunk: Uint8Array, stream: "stdout" | "stderr") => void;
  /** Shell that runs the command line. */
  readonly shell: "bash" | "sh";
}

function start(
  { command, args, pluginRoot, stdin }: HookInvocation,
  { workspace, tag }: CommandContext,
  { shell, onOutput }: Pipes,
): RunningProcess {
  const options = shell === "bash" ? ["--norc", "--noprofile"] : [];
  const program = args === undefined ? { command: shell, args: [...options, "-c", "--", command] } : { command, args };
  const plugin = pluginRoot === undefined ? {} : { RETINUE_PLUGIN_ROOT: pluginRoot, CLAUDE_PLUGIN_ROOT: pluginRoot };
  return workspace.spawn({
    ...program,
    cwd: workspace.root,
    env: { RETINUE_PROJECT_DIR: workspace.root, CLAUDE_PROJECT_DIR: workspace.root, ...plugin },
    tag,
    stdin,
    onOutput,
  });
}

function describeAbort({ reason }: AbortSignal): string {
  const isTimeout = reason instanceof DOMException && reason.name === "TimeoutError";
  return isTimeout ? "It did not finish within its time limit." : "It was interrupted.";
}
