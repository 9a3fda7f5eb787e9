import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord, writeAtomically } from "../../lib/index.ts";
import type { TerminalProgram } from "../../terminal/index.ts";

const MAX_PROMPTS = 1_000;

/** Keeps a directory's prompts in a file in the state directory that only the user can read. */
export function createPromptHistory(home: string, cwd: string): TerminalProgram["history"] {
  const file = join(home, "prompts.jsonl");
  return {
    load: () => {
      try {
        const lines = readFileSync(file, "utf8").trimEnd().split("\n");
        const kept = lines.slice(-MAX_PROMPTS);
        // A file that is too long is shortened in the background. If that fails, Retinue tries again at the next start.
        if (lines.length > 2 * MAX_PROMPTS) void writeAtomically(file, `${kept.join("\n")}\n`).catch(() => undefined);
        return kept.flatMap((line) => promptIn(line, cwd));
      } catch {
        return [];
      }
    },
    add: (prompt) => {
      try {
        mkdirSync(home, { recursive: true, mode: 0o700 });
        appendFileSync(file, `${JSON.stringify({ cwd, prompt })}\n`, { mode: 0o600 });
      } catch {
        // A full disk must not keep the user from sending a prompt.
      }
    },
  };
}

function promptIn(line: string, cwd: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && value["cwd"] === cwd && typeof value["prompt"] === "string" ? [value["prompt"]] : [];
  } catch {
    return [];
  }
}
