import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { workspaceDirectory } from "../app/index.ts";
import { UserError } from "../lib/index.ts";

/**
 * Resolves the symlinks in a path, so that it can be compared with the directories of sessions. A path that does not
 * exist is only made absolute.
 */
export function realDirectory(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}

/**
 * Returns the real path of the directory that an option such as `--cwd` names, or of the current directory. Throws a
 * `UserError` if the path is not a directory.
 */
export function chosenDirectory(given: string | undefined, option = "cwd"): string {
  try {
    return given === undefined ? realDirectory(".") : workspaceDirectory(resolve(given));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, code, exitCode } = error;
    throw new UserError(message, { code, exitCode, fix: `Check --${option}.` });
  }
}
