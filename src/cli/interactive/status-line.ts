import { spawn } from "node:child_process";
import type { Settings } from "../../app/index.ts";
import type { StatusFacts } from "../../terminal/index.ts";

const TIME_LIMIT_MS = 5_000;
const MAX_CHARACTERS = 1_000;

/** Runs the command of the setting `statusLine` with sh, and returns the first line that it prints. Never rejects. */
export function createStatusLine(
  { command, padding = 0 }: NonNullable<Settings["statusLine"]>,
  cwd: string,
): (facts: StatusFacts) => Promise<string> {
  return (facts) =>
    new Promise((resolve) => {
      const child = spawn("sh", ["-c", command], { cwd, stdio: ["pipe", "pipe", "ignore"], timeout: TIME_LIMIT_MS });
      let output = "";
      child.stdin.on("error", () => undefined);
      child.stdin.end(JSON.stringify(facts));
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        if (output.length < MAX_CHARACTERS) output += text;
      });
      child.on("error", () => resolve(""));
      child.on("close", () => {
        const [line = ""] = output.slice(0, MAX_CHARACTERS).split("\n");
        resolve(line.trim() === "" ? "" : `${" ".repeat(padding)}${line}`);
      });
    });
}
