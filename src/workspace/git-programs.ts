import { existsSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { GitPrograms } from "../protocol/index.ts";

/**
 * Finds a configuration file in a directory's repository that names programs which git runs even in read-only commands.
 * In commands that change something, git can run programs for many other reasons, such as hooks, so that any repository
 * counts then. Does not run git.
 */
export function findGitPrograms(directory: string): GitPrograms | undefined {
  const files = gitConfigurations(directory);
  const file = files.find(namesPrograms);
  if (file !== undefined) return { file, checked: !isBlocking(file) };
  const [first] = files;
  return first === undefined ? undefined : { file: first, checked: true, onlyChanges: true };
}

/** Returns the repository's own configuration files that git may read in this directory. */
function gitConfigurations(cwd: string): readonly string[] {
  return gitDirectories(cwd).flatMap((found) => {
    const commonLink = join(found, "commondir");
    const common = readText(commonLink)?.replace(lineEnd, "");
    const shared = common ? resolve(found, common) : found;
    return [join(shared, "config"), join(shared, "config.worktree"), join(found, "config.worktree"), commonLink];
  });
}

/** Returns files in which git looks for remotes that the configuration does not name. */
export function remoteFiles(repository: string): readonly string[] {
  return ["remotes", "branches"].flatMap((name) => pathsIn(join(repository, name)));
}

/** Returns the list of an unfinished rebase's steps if it contains commands, or can't be read. */
export function runningTodo(repository: string): string | undefined {
  const file = join(repository, "rebase-merge/git-rebase-todo");
  if (statAt(file) === undefined) return undefined;
  return /^[ \t]*(x|exec)\b/m.test(readText(file) ?? "exec") ? file : undefined;
}

/** Returns the repository that git finds, preceded by directories that git passes over because they are incomplete. */
function gitDirectories(directory: string): readonly string[] {
  const path = join(directory, ".git");
  const stat = statAt(path);
  const above = dirname(directory);
  const further = (): readonly string[] => (above === directory ? [] : gitDirectories(above));
  if (stat?.isDirectory()) return isRepository(path) ? [path] : [path, ...further()];
  const [, elsewhere] = (stat?.isFile() && /^gitdir: ?(.+)$/s.exec(readText(path)?.replace(lineEnd, "") ?? "")) || [];
  if (elsewhere !== undefined) return [resolve(directory, elsewhere)];
  if (isRepository(directory)) return [directory];
  return existsSync(join(directory, "HEAD")) ? [directory, ...further()] : further();
}

/** Git removes nothing else from the end of a path in a file. */
const lineEnd = /(?<![\r\n])[\r\n]+$/;

function isRepository(directory: string): boolean {
  return ["HEAD", "objects", "refs"].every((name) => existsSync(join(directory, name)));
}

/**
 * Returns true if a configuration file may name programs. Searches the whole text for keywords regardless of syntax,
 * because a false alarm is better than a miss.
 */
function namesPrograms(file: string): boolean {
  if (isBlocking(file)) return true;
  const text = readText(file)?.replace(lfsFilter, "") ?? "";
  return dangerousKeywords.some((keywords) => keywords.every((keyword) => keyword.test(text)));
}

/** Matches filter lines that git-lfs itself writes. */
const lfsFilter =
  /^[ \t]*(?:clean|smudge|process)[ \t]*=[ \t]*git-lfs (?:clean -- %f|smudge(?: --skip)? -- %f|filter-process(?: --skip)?)\s*$/gm;

const dangerousKeywords: readonly (readonly RegExp[])[] = [
  [/\[\s*include/i],
  [/\[\s*filter/i, /\b(?:clean|smudge|process|customtransfer)\b/i],
  [/\[\s*diff/i, /\b(?:textconv|command|external)\b/i],
];

/** Returns true if `.gitmodules` overrides the setting with which Retinue keeps git from fetching in submodules. */
export function mayFetchSubmodules(top: string): boolean {
  const file = join(top, ".gitmodules");
  return statAt(file) !== undefined && /fetchrecurse|\\/i.test(readText(file) ?? "\\");
}

function pathsIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).map((name) => join(directory, name));
  } catch {
    return [];
  }
}

function readText(file: string): string | undefined {
  try {
    return isBlocking(file) ? undefined : readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Returns true if reading a file could take forever: a pipe, a device, or a huge file. */
function isBlocking(file: string): boolean {
  const stat = statAt(file);
  return stat !== undefined && (!stat.isFile() || stat.size > MAX_BYTES);
}

const MAX_BYTES = 1024 * 1024;

function statAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
