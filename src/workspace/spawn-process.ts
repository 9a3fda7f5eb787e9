import type { Writable } from "node:stream";
import { endProcessTree, type StartedProcess, startProcess } from "../lib/index.ts";
import type { ProcessInput, RunningProcess, SpawnOptions } from "../ports/index.ts";
import { askConfined } from "./sandbox/ask-confined.ts";
import type { Sandbox } from "./sandbox/create-sandbox.ts";

interface Place {
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly sandbox: Sandbox | undefined;
}

/** Without news from its output for this long, an ended process is taken to have said everything. */
const QUIET_MS = 100;
/** Children that keep writing into the output of their ended parent don't hold up its end for longer. */
const DRAIN_MS = 1_000;

/**
 * Starts a program in the workspace. What it left running may go on to give output after `exited`, until `end()`.
 */
export function spawnProcess(options: SpawnOptions, place: Place): RunningProcess {
  const { root } = place;
  const { command, args, cwd = root } = options;
  const environment = { ...place.environment, ...options.env };
  const confined = options.confined ? place.sandbox?.confine({ root, cwd, command, args, environment }) : undefined;
  const started = startProcess({
    ...(confined ?? { command, args }),
    cwd,
    env: confined?.environment ?? environment,
    tag: options.tag,
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
    ...(options.stdinOpen === undefined ? {} : { stdinOpen: options.stdinOpen }),
  });
  const output = readOutput(started, options.onOutput);
  return {
    pid: started.pid,
    exited: started.exit.then(async (exit) => {
      await Promise.race([started.closed, output.quiet()]);
      confined?.ended();
      return exit;
    }),
    end: async () => {
      output.resume();
      if (confined) await askConfined(started);
      await endProcessTree(started);
    },
    pause: output.pause,
    resume: output.resume,
    ...(confined && { explain: confined.explain }),
    ...(started.stdin === undefined ? {} : { input: writeTo(started.stdin) }),
  };
}

function writeTo(stdin: Writable): ProcessInput {
  return {
    // The error itself is of no interest: a process that does not read is gone or soon will be, and `exited` says why.
    write: (data) => new Promise((resolve) => stdin.write(data, (error) => resolve(!error))),
    end: () => void stdin.end(),
  };
}

function readOutput(started: StartedProcess, onOutput: SpawnOptions["onOutput"]) {
  let lastNews = 0;
  let paused = false;
  const streams = { stdout: started.stdout, stderr: started.stderr };
  for (const name of ["stdout", "stderr"] as const) {
    streams[name].on("data", (chunk: Uint8Array) => {
      lastNews = performance.now();
      onOutput(chunk, name);
    });
    // The read end of a pipe breaks only when its process is gone, and `exit` tells of that.
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
    /** Resolves when children still hold the output open but nothing more comes. */
    async quiet(): Promise<void> {
      const end = performance.now();
      lastNews = end;
      let open = true;
      void started.closed.then(() => {
        open = false;
      });
      while (open) {
        const now = performance.now();
        if (!paused && (now - lastNews >= QUIET_MS || now - end >= DRAIN_MS)) return;
        await new Promise((resolve) => setTimeout(resolve, QUIET_MS / 4));
      }
    },
  };
}
