import { realpathSync } from "node:fs";
import { resolve } from "node:path";

/**
 * Resolves the symlinks in a path, as in the directories of sessions. A path that does not exist is only made absolute.
 */
export function realDirectory(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}
