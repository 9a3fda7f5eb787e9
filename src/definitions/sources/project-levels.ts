import { existsSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";

export interface ProjectLevels {
  /** The git root, or the highest directory below home, or where the session works. */
  readonly root: string;
  /** From where the session works up to the root. */
  readonly nearestFirst: readonly string[];
}

/**
 * Outside a git repository and outside home only `cwd` itself counts: a directory such as /tmp belongs to everybody, and
 * what somebody else put there must not be taken for the project's. Home is the user's scope, never a project's.
 */
export function projectLevels({ cwd, home }: { cwd: string; home: string }): ProjectLevels {
  const start = realPath(cwd);
  const userHome = realPath(home);
  const walked: string[] = [];
  for (let directory = start; directory !== userHome; directory = dirname(directory)) {
    walked.push(directory);
    if (existsSync(join(directory, ".git"))) return { root: directory, nearestFirst: walked };
    if (dirname(directory) === directory) break;
  }
  if (isWithin(start, userHome)) return { root: walked.at(-1) ?? start, nearestFirst: walked };
  return { root: start, nearestFirst: [start] };
}

/** By component: `/a/bc` is not within `/a/b`. A directory is within itself. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

/** A path that does not exist stands for itself. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
