import { exitCodes } from "../exit-codes.ts";
import { createOutput } from "../output.ts";
import type { HelpTopic } from "./help.ts";

/** Writes a help page to standard output and returns the exit code. The pages are loaded on demand. */
export async function printHelp(topic: HelpTopic): Promise<number> {
  const { helpFor } = await import("./help.ts");
  await createOutput(process.stdout).write(helpFor(topic));
  return exitCodes.succeeded;
}
