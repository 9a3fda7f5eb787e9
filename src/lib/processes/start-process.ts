import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Readable, type Writable } from "node:stream";
import { createDeferred } from "../async/deferred.ts";
import { describeError, errorCode } from "../errors.ts";
import { replaceInherited } from "./inherited-descriptors.ts";
import { processStartTime } from "./process-info.ts";
import { tagEnvironment } from "./process-tag.ts";

export interface ProcessRequest {
  command: string;
  args?: readonly string[] | undefined;
  cwd?: string | undefined;
  /** The complete environment. Defaults to the environment of this process. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Marks the process and everything it starts. A list of tags is ordered from the widest group to the process itself.
   * `endProcessTree` uses only the last tag; `sweepTagged` accepts any of them.
   */
  tag: string | readonly string[];
  /** Text or bytes written to the process's standard input. Empty by default. */
  stdin?: string | Uint8Array | undefined;
  /** Keeps standard input open after writing `stdin`. */
  stdinOpen?: boolean | undefined;
}

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Explains why the process could not be started. */
  failure?: string;
}

export interface StartedProcess {
  /** Undefined if the process could not be started. */
  readonly pid: number | undefined;
  readonly startTime: number | undefined;
  /** The last of the process's tags, which is unique to the process tree. */
  readonly tag: string;
  /** Standard input; undefined unless `stdinOpen` is set. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the process itself has ended, even if its children still hold the output open. Never rejects. */
  readonly exit: Promise<ProcessExit>;
  /** Settles when the process has ended and its output is closed. Never rejects. */
  readonly closed: Promise<ProcessExit>;
  readonly hasExited: boolean;
}

/**
 * Starts a process in its own group, marked by a tag. If this program exits first, the group is killed. Never throws:
 * `exit` reports a failed start.
 */
export function startProcess(request: ProcessRequest): StartedProcess {
  const tags = typeof request.tag === "string" ? [request.tag] : request.tag;
  const env = tagEnvironment(request.env ?? process.env, tags);
  const exit = createDeferred<ProcessExit>();
  const closed = createDeferred<ProcessExit>();
  let hasExited = false;
  let pid: number | undefined;

  function settle(how: ProcessExit): void {
    hasExited = true;
    if (pid !== undefined) running.delete(pid);
    exit.resolve(how);
  }
  function fail(error: unknown): void {
    const failure = describeFailure(error, request);
    settle({ code: null, signal: null, failure });
    closed.resolve({ code: null, signal: null, failure });
  }

  const child = spawnOrFail(request, { env, fail });
  pid = child?.pid;
  child?.on("error", (error) => child.pid === undefined && fail(error));
  child?.on("exit", (code, signal) => settle({ code, signal }));
  child?.on("close", (code, signal) => closed.resolve({ code, signal }));
  giveInput(child, request);
  if (pid !== undefined) killAtExit(pid);

  return {
    pid,
    startTime: pid === undefined ? undefined : processStartTime(pid),
    tag: tags.at(-1) ?? "",
    stdin: request.stdinOpen ? (child?.stdin ?? undefined) : undefined,
    stdout: child?.stdout ?? Readable.from([]),
    stderr: child?.stderr ?? Readable.from([]),
    exit: exit.promise,
    closed: closed.promise,
    get hasExited() {
      return hasExited;
    },
  };
}

/** Processes that have not ended. */
const running = new Set<number>();
let isWatching = false;

function killAtExit(pid: number): void {
  running.add(pid);
  if (isWatching) return;
  isWatching = true;
  process.once("exit", () => {
    for (const each of running) {
      try {
        process.kill(-each, "SIGKILL");
      } catch {
        // The group has just ended.
      }
    }
  });
}

/**
 * Starts the process and catches errors that Node throws, for example because an argument is too long. Node reports
 * other errors as events.
 */
function spawnOrFail(
  { command, args = [], cwd, stdin, stdinOpen }: ProcessRequest,
  { env, fail }: { env: NodeJS.ProcessEnv; fail: (error: unknown) => void },
): ChildProcess | undefined {
  const input = stdin !== undefined || stdinOpen ? "pipe" : "ignore";
  try {
    return spawn(command, [...args], {
      cwd,
      env,
      detached: true,
      stdio: [input, "pipe", "pipe", ...replaceInherited()],
    });
  } catch (error) {
    fail(error);
    return undefined;
  }
}

function giveInput(child: ChildProcess | undefined, { stdin, stdinOpen }: ProcessRequest): void {
  if (!child?.stdin) return;
  // Ignore write errors, which occur if the process does not read its input; its exit is reported anyway.
  child.stdin.on("error", () => {});
  if (stdin !== undefined) child.stdin.write(stdin);
  if (!stdinOpen) child.stdin.end();
}

function describeFailure(error: unknown, { command, args = [], cwd, env = process.env }: ProcessRequest): string {
  // Node reports a missing directory as a missing program.
  if (cwd !== undefined && !existsSync(cwd)) return `Could not start ${command}: the directory ${cwd} does not exist.`;
  const code = errorCode(error);
  if (code === "ENOENT") return `Could not start ${command}: no such program. Install it or check its name and PATH.`;
  if (code === "EACCES" && cwd !== undefined && !canEnter(cwd))
    return `Could not start ${command}: permission to enter the directory ${cwd} was denied.`;
  if (code === "EACCES" && !isInPath(command, env["PATH"]))
    return `Could not start ${command}: no such program in those directories of PATH that you may search. Install it or check its name and PATH.`;
  if (code === "EACCES") return `Could not start ${command}: it is not executable. Check its mode.`;
  if (code === "E2BIG")
    return `Could not start ${command}: its ${args.length} arguments are too long. Pass them in a file.`;
  return `Could not start ${command}: ${describeError(error)}`;
}

/**
 * Returns whether a program's file is found. If it is missing and PATH contains a directory without search permission,
 * the system reports that permission was denied.
 */
function isInPath(command: string, path = ""): boolean {
  if (command.includes("/")) return true;
  return path.split(delimiter).some((directory) => existsSync(join(directory, command)));
}

function canEnter(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
