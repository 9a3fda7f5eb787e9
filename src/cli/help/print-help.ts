import { exitCodes } from "../exit-codes.ts";
import { createOutput } from "../output.ts";
import { type HelpTopic, helpFor } from "./help.ts";

/** Writes a help page to standard output and returns the exit code. */
export async function printHelp(topic: HelpTopic): Promise<number> {
  await createOutput(process.stdout).write(helpFor(topic));
  return exitCodes.succeeded;
}
