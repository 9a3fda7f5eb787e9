import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { WalkedPath, WalkOptions } from "../../ports/index.ts";
import { codeOf, hardLinkOf, kindOf } from "./file-stat.ts";
import { compileGlob, type GlobMatcher } from "./shell-glob.ts";

/** Limits for all patterns in one call. */
const MAX_ENTRIES = 20_000;
const MAX_MATCHES = 1_000;
const MAX_MILLISECONDS = 500;

/** Directories that relative patterns and `~` start from. */
export interface PatternPlace {
  readonly root: string;
  readonly home: string;
}

/** Expands patterns as `Workspace.expand` describes. */
export async function expandPatterns(
  patterns: readonly string[],
  place: PatternPlace,
): Promise<readonly (readonly string[] | undefined)[]> {
  const limits: Limits = { entries: MAX_ENTRIES, deadline: Date.now() + MAX_MILLISECONDS };
  const found: (readonly string[] | undefined)[] = [];
  for (const pattern of patterns) found.push(await expandPattern(pattern, place, limits));
  return found;
}

interface Limits {
  entries: number;
  readonly deadline: number;
}

async function expandPattern(
  pattern: string,
  { root, home }: PatternPlace,
  limits: Limits,
): Promise<readonly string[] | undefined> {
  const isHome = /^~(\/|$)/.test(pattern);
  const start = isHome ? home : pattern.startsWith("/") ? "/" : root;
  // A quoted slash has the same meaning as an unquoted one.
  const names = pattern
    .slice(isHome ? 1 : 0)
    .replaceAll("\\/", "/")
    .split("/");
  try {
    const matches = await matchNames(start, names, limits);
    if (matches === undefined || matches.length > 0) return matches;
    // If a pattern matches nothing, the shell passes it on unchanged.
    return await matchNames(
      start,
      names.map((name) => plainName(name).replaceAll(/[\\*?[]/g, "\\$&")),
      limits,
    );
  } catch {
    return undefined;
  }
}

async function matchNames(
  start: string,
  names: readonly string[],
  limits: Limits,
): Promise<readonly string[] | undefined> {
  let paths: readonly string[] = [start];
  let isMatched = false;
  for (const name of names) {
    if (name === "" || name === ".") {
      // `*/` matches only directories.
      if (isMatched) paths = paths.filter((path) => exists(`${path}/.`));
      continue;
    }
    const glob = compileGlob(name);
    if (glob === undefined) return undefined;
    if (typeof glob === "string") {
      const next = name === ".." ? paths.flatMap((path) => parentOf(path)) : paths.map((path) => join(path, glob));
      paths = isMatched ? next.filter(exists) : next;
      continue;
    }
    const all: string[] = [];
    for (const path of paths) {
      const entries = await namesIn(path, glob, limits);
      if (entries === undefined || all.length + entries.length > MAX_MATCHES) return undefined;
      for (const entry of entries) all.push(...(entry === ".." ? parentOf(path) : [join(path, entry)]));
    }
    paths = all;
    isMatched = true;
  }
  return paths;
}

/** Returns the names in a directory that match; undefined if the directory can't be read within the limits. */
async function namesIn(
  directory: string,
  { matches, matchesDots }: GlobMatcher,
  limits: Limits,
): Promise<readonly string[] | undefined> {
  try {
    const names = await readdir(directory);
    limits.entries -= names.length;
    if (limits.entries < 0 || Date.now() > limits.deadline) return undefined;
    const found = names.filter(matches);
    // A name with U+FFFD is not valid UTF-8, so the path of the file is unknown.
    if (found.some((name) => name.includes("\ufffd"))) return undefined;
    // Older versions of bash include `.` and `..`.
    return matchesDots ? [".", "..", ...found] : found;
  } catch (error) {
    const code = codeOf(error);
    return code === "ENOENT" || code === "ENOTDIR" ? [] : undefined;
  }
}

/** Returns the parent of a directory, as the system resolves it. Throws if the directory does not exist. */
function parentOf(path: string): string[] {
  return [dirname(realpathSync.native(path))];
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (codeOf(error) === "ENOTDIR") return false;
    throw error;
  }
}

function plainName(name: string): string {
  return name.replaceAll(/\\(.)/gs, "$1");
}

const MAX_WALKED = 20_000;
const MAX_WALK_MILLISECONDS = 1_000;
/** Number of entries after which the walk yields to other work. */
const SLICE = 1_000;

/** Lists everything below a path, as `Workspace.walk` describes. */
export async function walkDirectory(
  start: string,
  { follows }: WalkOptions,
): Promise<readonly WalkedPath[] | undefined> {
  const deadline = Date.now() + MAX_WALK_MILLISECONDS;
  const found: WalkedPath[] = [];
  const waiting = [start];
  const visited = new Set<string>();
  try {
    const stats = lstatSync(start, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    if (!stats.isDirectory()) return [{ path: start, kind: kindOf(stats), hardLink: hardLinkOf(stats) }];
    for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
      const real = follows ? realpathSync.native(directory) : directory;
      if (visited.has(real)) continue;
      visited.add(real);
      for (const entry of entriesOf(directory)) {
        const path = join(directory, entry.name);
        if (entry.isSymbolicLink()) found.push({ path, kind: "link" });
        else found.push({ path, kind: kindOf(entry), hardLink: entry.isFile() ? linkAt(path) : undefined });
        if (entry.isDirectory() || (follows && entry.isSymbolicLink() && isDirectory(path))) waiting.push(path);
        if (found.length > MAX_WALKED || Date.now() > deadline) return undefined;
        if (found.length % SLICE === 0) await setImmediate();
      }
    }
    return found;
  } catch {
    return undefined;
  }
}

function linkAt(path: string): string | undefined {
  return hardLinkOf(lstatSync(path, { throwIfNoEntry: false }));
}

/** Returns the entries of a directory; an empty list if it has just been removed. */
function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}

function isDirectory(link: string): boolean {
  try {
    return statSync(link, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}
