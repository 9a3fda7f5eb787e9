import { UserError } from "../../app/index.ts";

/** Asks on the terminal; without one it throws a `UserError` that names `--yes`. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    const cure = "Add --yes to go on without being asked.";
    throw new UserError("There is no terminal to confirm on", { code: "usage", cure, exitCode: 2 });
  }
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
