import { createInterface } from "node:readline/promises";
import { usageError } from "../read-options.ts";

/** Asks a yes-or-no question on the terminal. Without a terminal, throws a `UserError` that suggests `--yes`. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw usageError("Confirmation requires a terminal", "Add --yes to skip the question.");
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
