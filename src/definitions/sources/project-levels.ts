import { existsSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join, sep } from "node:path";

export interface ProjectLevels {
  /** The git root, or the highest directory below home, or where the session works. */
  readonly root: string;
  /** From where the session works up to the root. */
  readonly nearestFirst: readonly string[];
  /** The root of the whole project where `root` is only the part that is trusted: the rest is not opened. */
  readonly untrustedRoot?: string;
}

export interface LevelsOptions {
  readonly cwd: string;
  readonly home: string;
  /** The highest directory that is trusted. */
  readonly trustedRoot?: string;
}

/**
 * Outside a git repository and outside home only `cwd` itself counts, and a directory above it only if it has the same
 * owner and not everybody may write there: somebody else can put a `.git` and definitions into /tmp, and they must not be
 * taken for the project's. Home is the user's scope, never a project's.
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

/** The levels that are trusted; all of them without a `trustedRoot`. */
export function trustedProjectLevels({ trustedRoot, ...place }: LevelsOptions): ProjectLevels {
  const levels = projectLevels(place);
  const top = realPath(trustedRoot ?? levels.root);
  if (isWithin(levels.root, top)) return levels;
  const nearestFirst = levels.nearestFirst.filter((directory) => isWithin(directory, top));
  return { root: nearestFirst.length > 0 ? top : "", nearestFirst, untrustedRoot: levels.root };
}

const everybodyWrites = 0o002;

function isOwn(directory: string, owner: number | undefined): boolean {
  if (process.platform === "win32") return true;
  const stats = statOf(directory);
  return stats !== undefined && stats.uid === owner && (stats.mode & everybodyWrites) === 0;
}

/** By component: `/a/bc` is not within `/a/b`. A directory is within itself. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

/** Undefined also for what may not be looked at, or is a loop of links: there is nothing to be read either. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** A path that does not exist stands for itself. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * A directory of the user's that is given empty or relative would be looked for in the project, and what an untrusted
 * project holds taken for the user's own. It stands for a place where nothing can be: below a file.
 */
export function ownDirectory(path: string): string {
  return isAbsolute(path) ? path : join(process.execPath, "nowhere");
}
