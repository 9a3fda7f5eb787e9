import { lstatSync, readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { gitDirectories } from "./sandbox/git-directories.ts";

/**
 * Programs that git would run by itself in the repository around a directory, and that are there or as they are only since
 * then (milliseconds since 1970). By the time of the last change, which nobody can set.
 */
export function changedHooks(root: string, since: number): readonly string[] {
  const { hooks } = gitDirectories(root);
  const directory = hooks === undefined ? undefined : lstatSync(hooks, { throwIfNoEntry: false });
  if (hooks === undefined || directory === undefined) return [];
  // Another directory in its place has files that are older than it.
  const isOther = isSince(directory, since);
  return namesIn(hooks)
    .map((name) => join(hooks, name))
    .filter((path) => {
      const own = lstatSync(path, { throwIfNoEntry: false });
      const target = statSync(path, { throwIfNoEntry: false });
      if (own === undefined || target === undefined || !target.isFile() || (target.mode & 0o111) === 0) return false;
      return isOther || isSince(own, since) || isSince(target, since);
    });
}

/** Git ignores its own examples. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => !name.endsWith(".sample"));
  } catch {
    return [];
  }
}

function isSince({ ctimeMs }: Stats, since: number): boolean {
  return ctimeMs > since;
}
