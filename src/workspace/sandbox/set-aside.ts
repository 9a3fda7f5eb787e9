import { cpSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describeError, errorCode } from "../../lib/index.ts";
import { entryIdentity } from "./mounts.ts";

/** What became of a protected path that a command created. */
export interface SetAside {
  readonly path: string;
  /** Where it is now. */
  readonly to?: string | undefined;
  /** Why it could not be moved. */
  readonly failure?: string | undefined;
}

/**
 * Moves those of the paths that exist now into a directory for review. They are moved and not deleted, because the user
 * may have created them meanwhile.
 */
export function setAside(paths: readonly string[], directory: string): readonly SetAside[] {
  return paths
    .filter((path) => entryIdentity(path) !== undefined)
    .map((path) => {
      try {
        // A symlink on the way would lead to a file that the command could not create.
        if (realpathSync.native(dirname(path)) !== dirname(path)) return { path, failure: "a symlink leads to it" };
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        const to = join(mkdtempSync(join(directory, "created-")), basename(path));
        move(path, to);
        return { path, to };
      } catch (error) {
        return { path, failure: describeError(error) };
      }
    });
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (errorCode(error) !== "EXDEV") throw error;
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
    rmSync(from, { recursive: true, force: true });
  }
}
