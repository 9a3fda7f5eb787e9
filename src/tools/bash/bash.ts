import { formatBytes, formatDuration } from "../../lib/index.ts";
import type { ReadOnlyView, ResultStore, Tool, ToolContext, ToolOutput, ToolSpec } from "../../ports/index.ts";
import type { CallId, JsonObject } from "../../protocol/index.ts";
import { descriptions } from "../descriptions.ts";
import { failed } from "../shared/failed.ts";
import { type CommandOutput, type OutputLimits, outputLimits, saveWhole } from "./command-output.ts";
import type { CommandPlace, Shell, Shells } from "./shells.ts";
import { describeEnd, exitCodeOf } from "./start-command.ts";

const LONGEST_TIMEOUT = 600_000;

const bashSpec: ToolSpec = {
  declaration: {
    name: "Bash",
    description: descriptions.bash,
    inputSchema: {
      type: "object",
      properties: {
        command: { type: "string", description: "The command." },
        description: { type: "string", description: "A short description of the command for the user." },
        timeout: {
          type: "integer",
          minimum: 1,
          maximum: LONGEST_TIMEOUT,
          description: "Time limit in milliseconds. Default: 120000.",
        },
        run_in_background: {
          type: "boolean",
          description:
            "Run without a time limit, and return an id for BashOutput and KillShell immediately. Use it for servers, for commands that take longer than 10 minutes, and if you have other work in the meantime. You are not notified. To wait for a build or until a server is ready, call BashOutput with a long timeout, and again if needed; do not poll with `sleep`. Commands, also those of subagents, reach it at 127.0.0.1; the user does only without a sandbox. The command is stopped when the session ends or, if a subagent started it, when that subagent reports.",
        },
      },
      required: ["command"],
    },
    propertyNeeds: { run_in_background: "BashOutput" },
  },
  traits: { parallel: false, effects: true },
};

export interface BashDependencies extends CommandPlace {
  readonly shells: Shells;
  /** Stores the complete text of long output. */
  readonly results: ResultStore;
  /** Timeout for calls that do not set one. */
  readonly timeoutMs?: number | undefined;
}

const usualTimeout = 120_000;
/** Maximum size of a command. Linux limits a single argument to 128 KB. */
const maxCommandBytes = 120_000;
const maxBackground = 16;
const progressEveryMs = 250;

export function createBashTool(dependencies: BashDependencies): Tool {
  return {
    ...bashSpec,
    // Terminating a process tree may take a few seconds, and its output should still be reported.
    timeoutMs: (input) => timeoutOf(input, dependencies) + 10_000,
    run: async (input, context) => run(input, context, dependencies),
    release: (agentId) => dependencies.shells.release(agentId),
  };
}

async function run(input: JsonObject, context: ToolContext, dependencies: BashDependencies): Promise<ToolOutput> {
  const command = String(input["command"]);
  if (command.trim() === "") return failed("The command is empty. Pass the command to run.");
  if (command.includes("\0")) return failed("The command contains a NUL character, which shells reject.");
  if (Buffer.byteLength(command) > maxCommandBytes)
    return failed("The command is too long. Write it to a file and run that file.");
  const confinement = (await dependencies.workspace.confinement?.()) ?? { kind: "off" };
  if (confinement.kind === "missing") return failed(withoutSandbox(confinement));
  const confined = confinement.kind === "on";
  const readsOnly = context.readsOnly ? await readOnlyView(context, { ...dependencies, confined }) : undefined;
  if (readsOnly === "unknown") return failed(tooLargeToHide);
  const how = { ...dependencies, confined, readsOnly };
  if (input["run_in_background"] === true) return runInBackground(command, context, how);
  return runToEnd(command, context, { ...how, timeout: timeoutOf(input, dependencies) });
}

/**
 * Returns the files that a command can see if it is allowed only because it is read-only; `unknown` if that can't be
 * determined.
 */
async function readOnlyView(
  { readableRoots: visible = [], hidden, hidesPaths = true }: ToolContext,
  { workspace, confined }: Pick<Confined, "workspace" | "confined">,
): Promise<ReadOnlyView | "unknown"> {
  if (!confined || !hidesPaths || workspace.findHidden === undefined) return { visible, hidden: [] };
  const found = await workspace.findHidden(hidden, visible);
  return found === undefined ? "unknown" : { visible, hidden: found };
}

const tooLargeToHide =
  "The command was not run. It is allowed only because it is read-only, so every file that must not be read has to be hidden from it. The workspace has too many files to find them all. Use Read, Grep or Glob, or run the command again, which then needs the user's approval.";

function withoutSandbox({ reason, fix }: { readonly reason: string; readonly fix?: string }): string {
  const whatToDo = fix === undefined ? "Tell the user." : `${fix} Tell the user.`;
  return `The settings require a sandbox for commands, and none is available: ${reason}. ${whatToDo}`;
}

interface Confined extends BashDependencies {
  readonly confined: boolean;
  readonly readsOnly: ReadOnlyView | undefined;
}

async function runInBackground(command: string, context: ToolContext, dependencies: Confined): Promise<ToolOutput> {
  const { shells } = dependencies;
  const { agentId, callId } = context;
  const running = shells.list(agentId).filter(({ end }) => end === undefined);
  if (running.length >= maxBackground)
    return failed(`${running.length} background shells are already running. Stop one with KillShell first.`);
  const { id } = shells.start({ ...dependencies, agentId, callId, command, listed: true });
  return {
    content: `Started in the background as ${id}. Use BashOutput to read its output and KillShell to stop it.`,
    details: { shellId: id },
    facts: { command: { command, exitCode: null } },
  };
}

type StopCause = "timeout" | "aborted";

async function runToEnd(
  command: string,
  context: ToolContext,
  { timeout, limits = outputLimits, ...dependencies }: Confined & { readonly timeout: number },
): Promise<ToolOutput> {
  const { agentId, callId, signal } = context;
  const onOutput = throttledProgress(context);
  const shell = dependencies.shells.start({
    ...dependencies,
    limits,
    agentId,
    callId,
    command,
    listed: false,
    onOutput,
  });
  let cause: StopCause | undefined;
  const stop = (why: StopCause) => {
    cause ??= why;
    return shell.kill();
  };
  const abort = () => void stop("aborted");
  const timer = setTimeout(() => void stop("timeout"), timeout);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  await shell.exited;
  clearTimeout(timer);
  signal.removeEventListener("abort", abort);
  // Ends processes that the command left running, which would otherwise outlive the call unnoticed.
  await shell.kill();
  return present(shell, { cause, timeout, limits, callId, results: dependencies.results });
}

interface Stop {
  readonly cause: StopCause | undefined;
  readonly timeout: number;
  readonly limits: OutputLimits;
}

async function present(
  shell: Shell,
  { callId, results, ...stop }: Stop & { readonly callId: CallId; readonly results: ResultStore },
): Promise<ToolOutput> {
  const { text, whole } = shell.output.takeNew();
  const { end, command } = shell;
  const stopped = explainStop(shell, stop);
  const exitCode = stopped === undefined ? exitCodeOf(end) : null;
  const ending = stopped ?? (end ? describeEnd(end) : "");
  const sandbox = shell.explain(text, exitCode !== 0);
  const where = await saveWhole(whole, { results, callId });
  const remarks = [where, ending, aboutAddress(command, text), sandbox ?? ""].filter((remark) => remark !== "");
  const parts = [text.trimEnd(), ...remarks.map((remark) => `[${remark}]`)];
  return {
    content: parts.filter((part) => part !== "").join("\n") || "(no output)",
    isError: exitCode !== 0,
    details: { exitCode, sandbox, signal: (end?.started && end.signal) || undefined },
    facts: { command: { command, exitCode } },
  };
}

/** Explains why a command could not open an address. */
function aboutAddress(command: string, output: string): string {
  const isFailure = (line: string) => line.includes("retinue:") && line.endsWith("No such file or directory");
  const isUsed = /retinue:\/\/(result|output)\//.test(command) && output.split("\n").some(isFailure);
  return isUsed ? "Addresses such as retinue://result/ID are not files. Open them with Read or Grep." : "";
}

function explainStop({ overflowed }: Shell, { cause, timeout, limits }: Stop): string | undefined {
  if (overflowed) return `Stopped: the output exceeded ${formatBytes(limits.fileBytes)}. Make the command print less.`;
  if (cause === "aborted") return "Cancelled.";
  if (cause !== "timeout") return undefined;
  const fix = "Set a longer timeout (at most 600000 ms) or run it in the background.";
  return `Timed out after ${formatDuration(timeout)} and was stopped. ${fix}`;
}

function throttledProgress(context: ToolContext): (output: CommandOutput) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (output) => {
    const now = performance.now();
    if (now - last < progressEveryMs) return;
    const line = output.lastLine().slice(-200);
    if (line.trim() === "") return;
    last = now;
    context.progress(line);
  };
}

function timeoutOf(input: JsonObject, { timeoutMs = usualTimeout }: BashDependencies): number {
  const given = input["timeout"];
  return typeof given === "number" ? Math.min(given, LONGEST_TIMEOUT) : timeoutMs;
}
