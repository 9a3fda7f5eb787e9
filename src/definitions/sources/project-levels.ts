import { existsSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { isWithin } from "../../lib/index.ts";

export interface ProjectLevels {
  /** The git root, or the highest project directory under the home directory, or the working directory. */
  readonly root: string;
  /** Directories from the working directory up to the root. */
  readonly nearestFirst: readonly string[];
  /** The root of the whole project if only `root` is trusted. Directories above `root` are not read. */
  readonly untrustedRoot?: string | undefined;
}

export interface LevelsOptions {
  readonly cwd: string;
  readonly home: string;
  /** The highest directory that is trusted. */
  readonly trustedRoot?: string | undefined;
}

/**
 * Returns the directories of the project. Outside a git repository and outside home, that is only `cwd`. A directory
 * above `cwd` is included only if it has the same owner and is not world-writable, because anyone can put a `.git` and
 * definitions into /tmp. The home directory is the user's scope and is never part of a project.
 */
export function projectLevels({ cwd, home }: Pick<LevelsOptions, "cwd" | "home">): ProjectLevels {
  const start = realPath(cwd);
  const userHome = realPath(home);
  const owner = statOf(start)?.uid;
  const walked: string[] = [];
  for (let directory = start; directory !== userHome; directory = dirname(directory)) {
    if (directory !== start && !isOwn(directory, owner)) break;
    walked.push(directory);
    if (existsSync(join(directory, ".git"))) return { root: directory, nearestFirst: walked };
    if (dirname(directory) === directory) break;
  }
  if (isWithin(start, userHome)) return { root: walked.at(-1) ?? start, nearestFirst: walked };
  return { root: start, nearestFirst: [start] };
}

/** Returns the trusted directories of the project, or all of them if `trustedRoot` is undefined. */
export function trustedProjectLevels({ trustedRoot, ...options }: LevelsOptions): ProjectLevels {
  const levels = projectLevels(options);
  const top = realPath(trustedRoot ?? levels.root);
  if (isWithin(levels.root, top)) return levels;
  const nearestFirst = levels.nearestFirst.filter((directory) => isWithin(directory, top));
  return { root: nearestFirst.length > 0 ? top : "", nearestFirst, untrustedRoot: levels.root };
}

const worldWritable = 0o002;

function isOwn(directory: string, owner: number | undefined): boolean {
  if (process.platform === "win32") return true;
  const stats = statOf(directory);
  return stats !== undefined && stats.uid === owner && (stats.mode & worldWritable) === 0;
}

/**
 * Returns the stats of a path. Undefined if it does not exist, access is denied or symlinks form a cycle, because
 * nothing can be read there in any case.
 */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Resolves symlinks. Returns the path itself if it does not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Replaces an empty or relative user directory with a path under a regular file, which can't exist. Otherwise, the
 * directory would be resolved in the project, and files from an untrusted project would be treated as the user's own.
 */
export function ownDirectory(path: string): string {
  return isAbsolute(path) ? path : join(process.execPath, "nowhere");
}
