import { VERSION } from "../../app/index.ts";
import { helpFor } from "./help.ts";

/**
 * Answers `retinue --help` and `retinue --version`. This is an entry of its own, because the rest takes longer to load.
 */
export function printText([first]: readonly string[]): void {
  const isHelp = first === "--help" || first === "-h";
  process.stdout.write(isHelp ? helpFor("retinue") : `${VERSION}\n`);
}
