import { fstatSync } from "node:fs";
import { UserError } from "../../lib/index.ts";

/** Joins the prompt argument and standard input, unless standard input is a terminal. */
export async function readPrompt(argument: string, report: (notice: string) => void): Promise<string> {
  const piped = hasPipedInput() ? await readInput(report) : "";
  return [argument, piped].filter((part) => part.trim() !== "").join("\n\n");
}

/**
 * Returns the error for a missing prompt. `agent`: name of the agent, if a prompt is required only because the agent
 * has no `initialPrompt`.
 */
export function noPrompt(agent?: string): UserError {
  const message = "There is no prompt";
  return new UserError(agent === undefined ? message : `${message}, and agent "${agent}" has no initialPrompt`, {
    code: "usage",
    fix: `Pass one, as in: retinue -p "Map this repository", or pipe it in, as in: git diff | retinue -p "Review this".`,
    exitCode: 2,
  });
}

/**
 * Returns whether standard input is piped. Terminals and /dev/null are character devices; a closed descriptor has no
 * status.
 */
function hasPipedInput(): boolean {
  try {
    return !fstatSync(0).isCharacterDevice();
  } catch {
    return false;
  }
}

const HINT_AFTER_MS = 2_000;

async function readInput(report: (notice: string) => void): Promise<string> {
  // Waits for a slow writer. A pipe that a program forgot to close looks the same, so a hint is printed.
  const hint = "Still waiting for standard input. If there is none, add: < /dev/null";
  const timer = setTimeout(() => report(hint), HINT_AFTER_MS);
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of process.stdin) {
      clearTimeout(timer);
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    throw new UserError("Standard input can't be read", { code: "stdin", cause: error, exitCode: 2 });
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/(?<!\n)\n+$/, "");
}
