import { existsSync, type Stats } from "node:fs";
import { constants, copyFile, lstat, mkdir, readlink, rm, rmdir, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, formatBytes, plural, UserError } from "../../lib/index.ts";
import { type Git, pathBelow, pathsOf, withIndexCopy } from "./git.ts";

interface Trees {
  /** Working tree to copy from; `to` is the new worktree. */
  readonly from: Git;
  readonly to: Git;
  readonly includeUncommitted: boolean;
  /** Maximum amount of changes to copy. Anything larger is probably generated. */
  readonly most?: { readonly files: number; readonly bytes: number };
}

export interface CopiedChanges {
  readonly files: readonly string[];
  readonly links: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Copies files from another working tree to a new worktree: uncommitted changes, if requested, and files that need a
 * filter program (git-lfs), because filter programs are not run.
 */
export async function copyChanges({ from, to, includeUncommitted, most = MOST }: Trees): Promise<CopiedChanges> {
  const [changed, filtered] = await Promise.all([
    includeUncommitted ? changedPaths(from, to.place.gitDirectory ?? "") : [],
    to.filters.length > 0 ? filteredPaths(to) : [],
  ]);
  const source = from.place.workTree ?? "";
  const target = to.place.workTree ?? "";
  const found = new Map<string, Stats | undefined>();
  let bytes = 0;
  for (const path of [...changed, ...filtered]) {
    if (found.has(path)) continue;
    const stats = await statBelow(source, path);
    bytes += stats?.size ?? 0;
    found.set(path, stats);
    if (bytes > most.bytes || found.size > most.files) throw tooMuch(source, most);
  }
  const copied = [...found.keys()].filter((path) => found.get(path) !== undefined);
  const removed = [...new Set(changed)].filter((path) => found.get(path) === undefined);
  // Files are removed first, because a directory may replace a file, or vice versa.
  for (const path of removed) await removeBelow(target, path);
  for (const path of copied) await copyBelow(path, { source, target, stats: found.get(path)! });
  const isLink = (path: string): boolean => found.get(path)?.isSymbolicLink() === true;
  return { files: copied.filter((path) => !isLink(path)), links: copied.filter(isLink), removed };
}

const MOST = { files: 50_000, bytes: 2 * 1024 ** 3 };

async function changedPaths(git: Git, beside: string): Promise<string[]> {
  const from = join(git.place.gitDirectory ?? "", "index");
  const [tracked, untracked] = await Promise.all([
    existsSync(from) ? withIndexCopy({ from, beside }, (copy) => differingPaths(git, copy)) : differingPaths(git),
    git.run(["ls-files", "-z", "--others", "--exclude-standard"]),
  ]);
  // A path that ends in a slash is a separate repository.
  return [...tracked, ...pathsOf(untracked).filter((path) => !path.endsWith("/"))];
}

/**
 * Lists the paths that differ. First refreshes the index, which can be outdated for every file, for example if the
 * repository was copied.
 */
async function differingPaths(git: Git, index?: string): Promise<string[]> {
  if (index !== undefined) await git.ask(["update-index", "-q", "--ignore-submodules", "--refresh"], { index });
  const args = ["diff-index", "-z", "--name-only", "--no-renames", "--ignore-submodules=all", "HEAD"];
  return pathsOf(await git.run(args, { index }));
}

async function filteredPaths(git: Git): Promise<string[]> {
  const all = await git.run(["ls-files", "-z"]);
  const fields = pathsOf(await git.run(["check-attr", "-z", "--stdin", "filter"], { input: all.toString("latin1") }));
  const paths: string[] = [];
  for (let at = 0; at + 2 < fields.length; at += 3) {
    if (!["unspecified", "unset", "set"].includes(fields[at + 2]!)) paths.push(fields[at]!);
  }
  return paths;
}

/**
 * Returns undefined if git does not consider the path to be a file in the working tree, for example because the path
 * leads through a symlink.
 */
async function statBelow(root: string, path: string): Promise<Stats | undefined> {
  for (const parent of parentsOf(path)) {
    if (!(await statOf(pathBelow(root, parent)))?.isDirectory()) return undefined;
  }
  const stats = await statOf(pathBelow(root, path));
  return stats?.isFile() || stats?.isSymbolicLink() ? stats : undefined;
}

async function removeBelow(root: string, path: string): Promise<void> {
  if ((await statBelow(root, path)) === undefined) return;
  await unlink(pathBelow(root, path));
  for (const parent of parentsOf(path).reverse()) {
    try {
      await rmdir(pathBelow(root, parent));
    } catch {
      return; // The directory is not empty.
    }
  }
}

interface Copying {
  readonly source: string;
  readonly target: string;
  readonly stats: Stats;
}

async function copyBelow(path: string, { source, target, stats }: Copying): Promise<void> {
  for (const parent of parentsOf(path)) {
    const place = pathBelow(target, parent);
    if ((await statOf(place))?.isDirectory()) continue;
    await rm(place, { recursive: true, force: true });
    await mkdir(place);
  }
  const [from, to] = [pathBelow(source, path), pathBelow(target, path)];
  await rm(to, { recursive: true, force: true });
  if (stats.isSymbolicLink()) await symlink(await readlink(from, { encoding: "buffer" }), to);
  else await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
}

/** Returns `a` and `a/b` for `a/b/c`. */
function parentsOf(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

async function statOf(path: Buffer): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

function tooMuch(root: string, { files, bytes }: typeof MOST): UserError {
  const message = `${root} has too many uncommitted changes to copy (over ${plural(files, "file")} or ${formatBytes(bytes)})`;
  return new UserError(message, { code: "worktree", fix: "Commit them, or add generated files to .gitignore." });
}
