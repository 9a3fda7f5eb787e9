import { VERSION } from "../../app/index.ts";
import { createOutput } from "../output.ts";
import { helpFor } from "./help.ts";

/**
 * Prints the output of `retinue --help` or `retinue --version`. This is a separate entry point because the rest of the
 * CLI takes longer to load.
 */
export function printText([first]: readonly string[]): void {
  const isHelp = first === "--help" || first === "-h";
  void createOutput(process.stdout).write(isHelp ? helpFor("retinue") : `${VERSION}\n`);
}
