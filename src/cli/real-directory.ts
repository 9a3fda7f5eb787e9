import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { workspaceDirectory } from "../app/index.ts";

/**
 * Resolves the symlinks in a path, as is done for the directories of sessions. A path that does not exist is only made
 * absolute.
 */
export function realDirectory(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}

/**
 * Returns the real path of the directory given with `--cwd`, or else of the current one. Throws a `UserError` if it is
 * not a directory.
 */
export function chosenDirectory(given: string | undefined): string {
  return given === undefined ? realDirectory(".") : workspaceDirectory(resolve(given));
}
