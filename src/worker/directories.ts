import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { errorCode, UserError } from "../lib/index.ts";

/** Returns the real path of the directory to work in. Throws a `UserError` if it can't be used. */
export function workspaceDirectory(path: string): string {
  const problem = (why: string, what = "The directory "): UserError =>
    new UserError(`${what}${resolve(path)} ${why}.`, {
      code: "cwd",
      fix: "Check the `cwd` option.",
      exitCode: 2,
    });
  try {
    const real = realpathSync.native(path);
    if (!statSync(real).isDirectory()) throw problem("is not a directory", "");
    accessSync(real, constants.R_OK | constants.X_OK);
    return real;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw problem(errorCode(error) === "ENOENT" ? "does not exist" : "can't be read, because you lack the permission");
  }
}

/** Returns the real paths of the given paths that exist. */
export function existingPaths(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    try {
      return [realpathSync.native(path)];
    } catch {
      return [];
    }
  });
}

/**
 * Returns the documentation directory of this package. Searches upwards, because the bundle, the library and the
 * sources are at different depths.
 */
export function docsDirectory(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, "package.json")) && directory !== dirname(directory))
    directory = dirname(directory);
  return join(directory, "docs");
}
