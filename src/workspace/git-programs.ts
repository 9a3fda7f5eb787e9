import { existsSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { GitPrograms } from "../protocol/index.ts";

/**
 * Finds a configuration file in a directory's repository that names programs: those that git runs even in read-only
 * commands, or else those that it runs only in commands that change something. Does not run git.
 */
export function findGitPrograms(directory: string): GitPrograms | undefined {
  const files = gitConfigurations(directory);
  const file = files.find(namesPrograms);
  if (file !== undefined) return { file, checked: !isBlocking(file) };
  const other = files.find((each) => changingKeywords.test(readText(each) ?? ""));
  return other === undefined ? undefined : { file: other, checked: true, onlyChanges: true };
}

/** Returns the repository's own configuration files that git reads in this directory. */
function gitConfigurations(cwd: string): readonly string[] {
  const found = gitDirectory(cwd);
  if (found === undefined) return [];
  const common = readText(join(found, "commondir"))?.trim();
  const shared = common ? resolve(found, common) : found;
  const commonLink = join(found, "commondir");
  return [join(shared, "config"), join(shared, "config.worktree"), join(found, "config.worktree"), commonLink];
}

function gitDirectory(directory: string): string | undefined {
  const path = join(directory, ".git");
  const stat = statAt(path);
  if (stat?.isDirectory()) return path;
  const [, elsewhere = ""] = (stat?.isFile() && /^gitdir:(.+)$/.exec(readText(path)?.trimEnd() ?? "")) || [];
  if (elsewhere.trim() !== "") return resolve(directory, elsewhere.trim());
  if (["HEAD", "config", "objects"].every((name) => existsSync(join(directory, name)))) return directory;
  const above = dirname(directory);
  return above === directory ? undefined : gitDirectory(above);
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

/** Settings that name hooks, editors, helpers and other programs, and aliases that run a program. */
const changingKeywords =
  /\b(?:hookspath|sshcommand|editor|askpass|gitproxy|helper|program|driver|cmd|command|uploadpack|receivepack|vcs|templatedir)\b\s*=|=\s*"?!/i;

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
