import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { errorCode, UserError } from "../lib/index.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** `RETINUE_HOME`, or `.retinue` in the home directory. */
export function stateDirectory(environment: Environment): string {
  return environment["RETINUE_HOME"] || join(environment["HOME"] || homedir(), ".retinue");
}

/** The real path of the directory to work in. Throws a `UserError` where there is none. */
export function workspaceDirectory(path: string): string {
  const problem = (why: string): UserError =>
    new UserError(`The directory ${path} ${why}.`, { code: "cwd", cure: "Check --cwd.", exitCode: 2 });
  try {
    const real = realpathSync.native(path);
    if (!statSync(real).isDirectory()) throw problem("is not a directory");
    return real;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw problem(errorCode(error) === "ENOENT" ? "does not exist" : "can't be entered");
  }
}

/** Those of the directories that exist, by their real paths. */
export function existingDirectories(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    try {
      return [realpathSync.native(path)];
    } catch {
      return [];
    }
  });
}

/** The documentation of this very package. The bundle, the library and the sources stand at different depths of it. */
export function docsDirectory(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, "package.json")) && directory !== dirname(directory))
    directory = dirname(directory);
  return join(directory, "docs");
}
