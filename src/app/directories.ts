import { homedir } from "node:os";
import { join } from "node:path";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns `RETINUE_HOME`, or `.retinue` in the home directory. */
export function stateDirectory(environment: Environment): string {
  return environment["RETINUE_HOME"] || join(environment["HOME"] || homedir(), ".retinue");
}
