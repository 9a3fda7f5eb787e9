import { spawn } from "node:child_process";
import { createTextCollector, describeError } from "../../lib/index.ts";
import type { ShellOutput } from "../../terminal/index.ts";

export interface ShellOptions {
  readonly cwd: string;
  readonly signal: AbortSignal;
}

/** Maximum size of the output in bytes. The end of a long output usually matters more than its start. */
const OUTPUT = { headBytes: 10_000, tailBytes: 20_000 };
/** Time within which a command must end after the user stops it. */
const GRACE_MS = 2_000;
/** Time to wait for output after a command has ended. A process that it left behind may keep the output open. */
const OUTPUT_MS = 200;

/**
 * Runs a shell command that the user has typed. Returns its output, and its exit code if it failed. Never rejects. The
 * command is not marked as an agent's command, because users may do things that agents must not do.
 */
export function runShell(command: string, { cwd, signal }: ShellOptions): Promise<ShellOutput> {
  const shell = process.env["SHELL"] || "/bin/sh";
  const child = spawn(shell, ["-c", command], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const output = createTextCollector(OUTPUT);
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", output.push);
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    endGroup(child.pid, "SIGTERM");
    killing = setTimeout(() => endGroup(child.pid, "SIGKILL"), GRACE_MS);
  };
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  return new Promise((resolve) => {
    const finish = (result: ShellOutput): void => {
      clearTimeout(killing);
      signal.removeEventListener("abort", stop);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(result);
    };
    const end = (code: number | null): void => {
      const { text, totalLines } = output.collected();
      const last = code === 0 ? "" : code === null ? "(stopped)" : `(exit code ${code})`;
      const whole = [text.trimEnd(), last].filter((part) => part !== "").join("\n");
      finish({ text: whole, lines: totalLines + (last === "" ? 0 : 1) });
    };
    child.on("error", (error) => finish({ text: describeError(error), lines: 1 }));
    child.on("exit", (code) => setTimeout(() => end(code), OUTPUT_MS));
    child.on("close", end);
  });
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // All processes in the group have ended.
  }
}
