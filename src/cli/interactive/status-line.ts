import { spawn } from "node:child_process";
import type { Settings } from "../../app/index.ts";
import { describeError } from "../../lib/index.ts";
import type { StatusFacts, StatusOutput } from "../../terminal/index.ts";

const TIME_LIMIT_MS = 5_000;
const MAX_CHARACTERS = 1_000;

/** Runs the `statusLine` setting's command with sh, and returns the first line that it prints. Never rejects. */
export function createStatusLine(
  { command, padding = 0 }: NonNullable<Settings["statusLine"]>,
  cwd: string,
): (facts: StatusFacts) => Promise<StatusOutput> {
  return (facts) =>
    new Promise((resolve) => {
      const child = spawn("sh", ["-c", command], { cwd, stdio: "pipe", timeout: TIME_LIMIT_MS });
      const output = { stdout: "", stderr: "" };
      child.stdin.on("error", () => undefined);
      child.stdin.end(JSON.stringify(facts));
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8").on("data", (text: string) => {
          if (output[name].length < MAX_CHARACTERS) output[name] += text;
        });
      }
      child.on("error", (error) => resolve({ line: "", problem: describeError(error) }));
      child.on("close", (code, signal) => {
        const line = firstLine(output.stdout);
        const error = firstLine(output.stderr);
        const ended = signal === null ? `exit code ${code}` : `ended by ${signal}`;
        const what = child.killed ? `it did not end within ${TIME_LIMIT_MS / 1_000} seconds` : ended;
        if (line !== "") resolve({ line: `${" ".repeat(padding)}${line}` });
        else if (code === 0) resolve({ line: "" });
        else resolve({ line: "", problem: error === "" ? what : `${what}, ${error}` });
      });
    });
}

function firstLine(text: string): string {
  const [line = ""] = text.slice(0, MAX_CHARACTERS).split("\n");
  return line.trim() === "" ? "" : line;
}
