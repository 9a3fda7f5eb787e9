import { spawn } from "node:child_process";
import { describeError } from "../../lib/index.ts";

export interface ShellOptions {
  readonly cwd: string;
  readonly signal: AbortSignal;
}

/** Maximum number of characters of the output that are kept. */
const MAX_OUTPUT = 30_000;

/**
 * Runs a shell command that the user has typed. Returns its output, and its exit code if it failed. Never rejects. The
 * command is not marked as one of an agent, because the user may do with it what agents must not.
 */
export function runShell(command: string, { cwd, signal }: ShellOptions): Promise<string> {
  const shell = process.env["SHELL"] || "/bin/sh";
  const child = spawn(shell, ["-c", command], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      if (output.length <= MAX_OUTPUT) output += text;
    });
  }
  const stop = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
  };
  signal.addEventListener("abort", stop, { once: true });
  return new Promise((resolve) => {
    child.on("error", (error) => resolve(describeError(error)));
    child.on("close", (code) => {
      signal.removeEventListener("abort", stop);
      const text = output.length > MAX_OUTPUT ? `${output.slice(0, MAX_OUTPUT)}\n… (the rest was left out)` : output;
      const end = code === 0 ? "" : code === null ? "(stopped)" : `(exit code ${code})`;
      resolve([text.trimEnd(), end].filter((part) => part !== "").join("\n"));
    });
  });
}
