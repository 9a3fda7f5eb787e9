import { createDeferred, createTextCollector, describeError, isRecord, withTimeLimit } from "../lib/index.ts";
import type { RunningProcess, Workspace } from "../ports/index.ts";
import type { HookAnswer } from "../protocol/index.ts";
import { type CommandRun, failed, readAnswer } from "./answers.ts";
import { type CommandHook, type FunctionHook, type Hook, type HookInput, nameOf } from "./hook.ts";

const DEFAULT_SECONDS = 60;
const LONGEST_SECONDS = 3_600;

export interface HookContext {
  readonly workspace: Workspace;
  /** Tags of the process, from the widest group to the process itself. */
  readonly tag: readonly string[];
  readonly signal: AbortSignal;
  /**
   * Called with a promise that settles when all processes of the hook have ended, which may be after the hook itself.
   */
  readonly onSwept: (swept: Promise<void>) => void;
}

/** Runs one hook within its time limit. Never rejects. */
export function runHook(hook: Hook, input: HookInput, context: HookContext): Promise<HookAnswer> {
  const seconds = Math.min(hook.timeoutSeconds ?? DEFAULT_SECONDS, LONGEST_SECONDS);
  return withTimeLimit(context.signal, seconds * 1_000, async (signal) => {
    if (hook.kind === "function") return callFunction(hook, input, signal);
    const run = await runCommand(hook, `${JSON.stringify(input)}\n`, { ...context, signal });
    return context.signal.aborted ? abortedAnswer(hook) : readAnswer(hook.event, run, nameOf(hook));
  });
}

/** Returns the answer for a hook whose run was aborted. No message is needed, because the user aborted the run. */
function abortedAnswer({ event }: Hook): HookAnswer {
  return event === "PreToolUse" ? { decision: "deny", reason: "The run was interrupted." } : {};
}

async function callFunction(hook: FunctionHook, input: HookInput, signal: AbortSignal): Promise<HookAnswer> {
  const { event, run } = hook;
  const name = nameOf(hook).replace("a ", "A ");
  const call = run as (
    input: HookInput,
    signal: AbortSignal,
  ) => HookAnswer | undefined | Promise<HookAnswer | undefined>;
  try {
    const answer = (await Promise.race([call(input, signal), rejectOnAbort(signal)])) ?? {};
    const problem = answerProblem(answer);
    return problem === undefined ? answer : failed(event, `${name} returned an invalid answer: ${problem}.`);
  } catch (error) {
    if (signal.aborted && !isTimeout(signal.reason)) return abortedAnswer(hook);
    if (isTimeout(signal.reason)) return failed(event, `${name} did not finish within its time limit.`);
    return failed(event, `${name} failed: ${describeError(error)}`);
  }
}

const answerFields: readonly string[] = ["decision", "reason", "input", "context", "notice"];
const decisions: readonly unknown[] = [undefined, "allow", "ask", "deny"];

/**
 * Describes what is wrong with the answer that a function returned; undefined if the answer is valid. A misspelled
 * denial must not let a call pass.
 */
function answerProblem(answer: unknown): string | undefined {
  if (!isRecord(answer)) return "it must be an object or undefined";
  const unknown = Object.keys(answer).find((field) => !answerFields.includes(field));
  if (unknown !== undefined) return `unknown field ${unknown}; use ${answerFields.join(", ")}`;
  const { decision } = answer;
  return decisions.includes(decision)
    ? undefined
    : `decision must be allow, ask or deny, not ${JSON.stringify(decision)}`;
}

/** Rejects when the signal is aborted, because functions may ignore the signal. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * Maximum size of an answer. A longer answer is treated as a failure, because a truncated one could mean something
 * else.
 */
const ANSWER_BYTES = 1_024 * 1_024;
const ERROR_BYTES = 16 * 1_024;

/** Runs a command with the given input. Ends processes that the command leaves running. Never rejects. */
async function runCommand(hook: CommandHook, stdin: string, context: HookContext): Promise<CommandRun> {
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
  let running = start(hook, context, { stdin, onOutput, shell: "bash" });
  let exit = await Promise.race([running.exited, broken.promise]);
  if (typeof exit === "object" && exit.failure !== undefined && hook.args === undefined) {
    running = start(hook, context, { stdin, onOutput, shell: "sh" });
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
  readonly stdin: string;
  readonly onOutput: (chunk: Uint8Array, stream: "stdout" | "stderr") => void;
  /** Shell that runs the command line. */
  readonly shell: "bash" | "sh";
}

function start(
  { command, args, pluginRoot }: CommandHook,
  { workspace, tag }: HookContext,
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

function describeAbort({ reason }: AbortSignal): string {
  return isTimeout(reason) ? "It did not finish within its time limit." : "It was interrupted.";
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}
