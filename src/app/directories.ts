import { isAbsolute, join } from "node:path";
import { homeDirectory, UserError } from "../lib/index.ts";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns `RETINUE_HOME`, or `.retinue` in the home directory. Throws a `UserError` if `RETINUE_HOME` is relative. */
export function stateDirectory(environment: Environment): string {
  const chosen = environment["RETINUE_HOME"] || join(homeDirectory(environment), ".retinue");
  if (isAbsolute(chosen)) return chosen;
  throw new UserError(`RETINUE_HOME is ${JSON.stringify(chosen)}, which is not an absolute path`, {
    code: "home_invalid",
    fix: "Set it to an absolute path, or unset it to use ~/.retinue.",
    exitCode: 2,
  });
}
