import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Writable } from "node:stream";
import { setImmediate as nextImmediate, setTimeout as wait } from "node:timers/promises";
import { endProcessTree, isWithin, type StartedProcess, startProcess } from "../lib/index.ts";
import type { ProcessInput, RunningProcess, SpawnOptions } from "../ports/index.ts";
import { pathOutside } from "./command-environment.ts";
import { harmlessGit } from "./harmless-git.ts";
import type { Sandbox } from "./sandbox/create-sandbox.ts";
import { gitDirectories } from "./sandbox/git-directories.ts";

interface ProcessContext {
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Environment for processes that are allowed only because they are read-only. */
  readonly plainEnvironment: Readonly<Record<string, string>>;
  readonly sandbox: Sandbox | undefined;
}

/** Interval at which the output of a process is checked after its exit. */
const CHECK_MS = 25;
/** Number of checks without output after which the output of an exited process is considered complete. */
const QUIET_CHECKS = 4;
/** Maximum number of checks by which children that keep writing can delay the end of their parent. */
const DRAIN_CHECKS = 40;

/**
 * Starts a program in the workspace. Child processes that the program leaves running may write output after `exited`,
 * until `end()`.
 */
export function spawnProcess(options: SpawnOptions, place: ProcessContext): RunningProcess {
  const { root } = place;
  const { command, args, cwd = root } = options;
  const git = options.readsOnly && harmlessGit(options.confined ? place.plainEnvironment : withoutOwnPrograms(place));
  const environment = { ...(git?.environment ?? place.environment), ...options.env };
  const readsOnly = options.readsOnly && {
    ...options.readsOnly,
    visible: [...options.readsOnly.visible, ...(git === undefined ? [] : [git.directory])],
  };
  const confined = options.confined
    ? place.sandbox?.confine({ root, cwd, command, args, environment, readsOnly })
    : undefined;
  const started = startProcess({
    command: confined?.command ?? command,
    args: confined?.args ?? args,
    cwd,
    env: confined?.environment ?? environment,
    tag: options.tag,
    stdin: options.stdin,
    stdinOpen: options.stdinOpen,
  });
  const output = readOutput(started, options.onOutput);
  return {
    pid: started.pid,
    exited: started.exit.then(async (exit) => {
      await Promise.race([started.closed, output.quiet()]);
      await confined?.ended();
      return exit;
    }),
    end: async () => {
      output.resume();
      if (confined) await terminateConfined(started);
      await endProcessTree(started);
    },
    pause: output.pause,
    resume: output.resume,
    explain: (text, failed) => confined?.explain(text, failed),
    input: started.stdin && writeTo(started.stdin),
  };
}

/**
 * Returns the environment for a read-only process without a sandbox, which must run no programs from the repository.
 */
function withoutOwnPrograms({ root, plainEnvironment }: ProcessContext): Readonly<Record<string, string>> {
  const { PATH = "", HOME = "" } = plainEnvironment as { PATH?: string; HOME?: string };
  const { tree = root, writable } = gitDirectories(root);
  // A repository that covers the whole home directory is an exception, because it contains all programs that the user
  // has installed there.
  const around = [tree, ...writable.map((path) => dirname(path))].filter((place) => !isWithin(HOME, place));
  return { ...plainEnvironment, PATH: pathOutside(PATH, [root, ...around]) };
}

function writeTo(stdin: Writable): ProcessInput {
  return {
    // The error itself does not matter. A process that does not read its input has exited or will exit soon, and
    // `exited` reports why.
    write: (data) => new Promise((resolve) => stdin.write(data, (error) => resolve(!error))),
    end: () => void stdin.end(),
  };
}

function readOutput(started: StartedProcess, onOutput: SpawnOptions["onOutput"]) {
  let chunks = 0;
  let paused = false;
  const streams = { stdout: started.stdout, stderr: started.stderr };
  for (const name of ["stdout", "stderr"] as const) {
    streams[name].on("data", (chunk: Uint8Array) => {
      chunks += 1;
      onOutput(chunk, name);
    });
    // The pipe breaks only when the process has ended, and `exit` reports that.
    streams[name].on("error", () => {});
  }
  return {
    pause(): void {
      paused = true;
      for (const stream of Object.values(streams)) stream.pause();
    },
    resume(): void {
      paused = false;
      for (const stream of Object.values(streams)) stream.resume();
    },
    /** Resolves when children still hold the output open but no longer write to it. */
    async quiet(): Promise<void> {
      let open = true;
      void started.closed.then(() => {
        open = false;
      });
      let silent = 0;
      for (let checks = 0; open && silent < QUIET_CHECKS && checks < DRAIN_CHECKS; ) {
        const before = chunks;
        await wait(CHECK_MS);
        // On a busy machine, the interval can pass before Node has read output that was already written. Node reads
        // that output before this promise resolves.
        await nextImmediate();
        if (paused) continue;
        checks += 1;
        silent = chunks === before ? silent + 1 : 0;
      }
    },
  };
}

const GRACE_MS = 2_000;

/**
 * Sends TERM to the processes in a sandbox and waits a moment. The two processes of the sandbox itself get no signal,
 * because they would exit immediately and kill everything in the sandbox before it could clean up.
 */
async function terminateConfined({ pid, exit, hasExited }: StartedProcess): Promise<void> {
  if (pid === undefined || hasExited) return;
  const inner = childrenOf(pid).flatMap(childrenOf);
  if (inner.length === 0) return;
  for (const each of descendants(inner)) signal(each);
  const waited = new AbortController();
  await Promise.race([exit, wait(GRACE_MS, undefined, { signal: waited.signal }).catch(() => undefined)]);
  waited.abort();
}

function descendants(pids: readonly number[]): readonly number[] {
  return pids.flatMap((pid) => [pid, ...descendants(childrenOf(pid))]);
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // The process has already ended.
  }
}
