import { type Dirent, readdirSync, realpathSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { deleteTree, describeError, errorCode } from "../../lib/index.ts";
import { examineWorktree, type WorktreeState } from "./examine-worktree.ts";
import type { Environment } from "./git.ts";
import { isInUse, readRecord, type WorktreeRecord } from "./record.ts";
import { removeWorktree } from "./remove-worktree.ts";

export interface ListedWorktree {
  readonly path: string;
  /** Record of the worktree; absent if there is none. */
  readonly record?: WorktreeRecord;
  /** True while a process is creating the worktree or working in it. */
  readonly inUse: boolean;
  readonly state: WorktreeState;
}

/** Lists the worktrees in `<home>/worktrees`, oldest first. */
export async function listWorktrees(home: string, environment: Environment): Promise<readonly ListedWorktree[]> {
  const listed: ListedWorktree[] = [];
  for (const path of worktreePaths(home)) {
    const record = readRecord(path);
    if (record === undefined)
      listed.push({ path, inUse: false, state: { kind: "orphan", why: "nothing is known about it" } });
    else listed.push({ path, record, inUse: isInUse(record), state: await examineWorktree(record, environment) });
  }
  return listed.sort((left, right) => (left.record?.createdAt ?? 0) - (right.record?.createdAt ?? 0));
}

/** Returns the real paths of the project directories. */
function projectDirectories(home: string): string[] {
  const root = join(home, "worktrees");
  return entriesOf(root)
    .filter((entry) => entry.isDirectory())
    .map((entry) => realpathSync.native(join(root, entry.name)));
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw error;
  }
}

function worktreePaths(home: string): string[] {
  const paths = new Set<string>();
  for (const directory of projectDirectories(home)) {
    for (const entry of entriesOf(directory)) {
      if (entry.isDirectory() && !entry.name.endsWith(".removing")) paths.add(join(directory, entry.name));
      const name = /^([^.].*)\.json$/.exec(entry.name)?.[1];
      if (name !== undefined && entry.isFile()) paths.add(join(directory, name));
    }
  }
  return [...paths].sort();
}

export interface PruneOptions {
  readonly environment: Environment;
  /** If true, reports which worktrees would be removed, without removing them. */
  readonly dryRun: boolean;
}

export interface PrunedWorktrees {
  readonly removed: readonly ListedWorktree[];
  readonly kept: readonly ListedWorktree[];
  readonly failed: readonly { readonly worktree: ListedWorktree; readonly message: string }[];
}

/**
 * Removes unused worktrees that have no changes, are merged or are incomplete, and the remains of worktrees whose
 * directories were deleted. Keeps a branch that has commits, unless other branches contain them.
 */
export async function pruneWorktrees(home: string, { environment, dryRun }: PruneOptions): Promise<PrunedWorktrees> {
  const removed: ListedWorktree[] = [];
  const kept: ListedWorktree[] = [];
  const failed: { worktree: ListedWorktree; message: string }[] = [];
  for (const worktree of await listWorktrees(home, environment)) {
    const { path, record, state } = worktree;
    // The record is read again, because an agent may have been resumed in the worktree in the meantime.
    const now = readRecord(path);
    if (record === undefined || now === undefined || isInUse(now) || !isRemovable(worktree)) {
      kept.push(worktree);
      continue;
    }
    const tip = state.kind === "changed" ? state.merged : undefined;
    try {
      if (!dryRun) await removeWorktree(record, { environment, tip });
      removed.push(worktree);
    } catch (error) {
      failed.push({ worktree, message: describeError(error) });
    }
  }
  if (!dryRun) await sweep(home);
  return { removed, kept, failed };
}

function isRemovable({ state }: ListedWorktree): boolean {
  if (state.kind === "changed") return state.merged !== undefined;
  return state.kind !== "orphan";
}

/** Deletes the remains of interrupted removals and creations, and empty directories. */
async function sweep(home: string): Promise<void> {
  for (const directory of projectDirectories(home)) {
    for (const { name } of entriesOf(directory)) {
      const path = join(directory, name);
      if (name.endsWith(".removing")) await deleteTree(path).catch(() => undefined);
      const owner = /^(.+)\.index(\.lock)?$/.exec(name)?.[1];
      if (owner !== undefined && readRecord(join(directory, owner)) === undefined) rmSync(path, { force: true });
    }
    try {
      rmdirSync(directory);
    } catch {
      // The directory is not empty.
    }
  }
}
