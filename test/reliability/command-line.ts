import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { type Ended, startInHost } from "../cli/hosted-command.ts";
import { MARK, type Place } from "./place.ts";

export interface CommandLine {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Returns the output so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves when standard error contains the text. Rejects if the process ends first. */
  told(text: string): Promise<void>;
}

export type { Ended };

export interface CommandLineOptions {
  readonly place: Place;
  /** Address of the model API server. */
  readonly url: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Command that starts the program, such as strace with its options. */
  readonly under?: readonly string[];
}

/** Path of the built program, unless RETINUE_CLI names another one. */
const cliPath = process.env["RETINUE_CLI"] ?? join(import.meta.dirname, "../../dist/cli.cjs");

/** Starts `retinue` as a separate process that inherits only PATH from this environment. */
export function startCommandLine({ place, url, args, environment, under = [] }: CommandLineOptions): CommandLine {
  const [program = "", ...rest] = [...under, process.execPath, cliPath, ...args];
  const child = spawn(program, rest, {
    cwd: place.cwd,
    env: environmentFor({ place, url, environment }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      text[name] += chunk;
      for (const listener of listeners) listener();
    });
    child[name].on("error", () => undefined);
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    // If standard output was destroyed, it never closes, so do not wait for more than the exit of the process.
    child.on("exit", (code, signal) => {
      const settle = (): void => resolve({ code, signal, ...text });
      if (child.stdout.destroyed) settle();
      else child.on("close", settle);
    });
  });
  return {
    child,
    ended,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    told: (wanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!text.stderr.includes(wanted)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
        void ended.then(({ stderr }) => reject(new Error(`It ended without "${wanted}": ${stderr}`)));
      }),
  };
}

/**
 * Runs `retinue` to its end in a process that has run other commands before, because a new process takes longer to start
 * than most commands to run. RETINUE_CLI may be another version of the program, so it gets a process of its own.
 */
export function runCommandLine(options: Omit<CommandLineOptions, "under">): Promise<Ended> {
  if (process.env["RETINUE_CLI"] !== undefined) return startCommandLine(options).ended;
  const { place, args } = options;
  return startInHost({ words: args, cwd: place.cwd, environment: environmentFor(options) }).ended;
}

function environmentFor({
  place,
  url,
  environment,
}: Pick<CommandLineOptions, "place" | "url" | "environment">): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: place.root,
    RETINUE_HOME: place.home,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "key-of-the-test",
    [MARK]: place.mark,
    ...environment,
  };
}
