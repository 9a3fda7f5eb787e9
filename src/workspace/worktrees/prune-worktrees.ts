import { rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "../../lib/index.ts";
import type { Environment } from "./git.ts";
import { entriesOf, type ListedWorktree, listWorktrees, projectDirectories } from "./list-worktrees.ts";
import { isInUse, readRecord } from "./record.ts";
import { deleteTree, removeWorktree } from "./remove-worktree.ts";

export interface PruneOptions {
  readonly environment: Environment;
  /** Only says what would be done. */
  readonly dryRun: boolean;
}

export interface PrunedWorktrees {
  readonly removed: readonly ListedWorktree[];
  readonly kept: readonly ListedWorktree[];
  readonly failed: readonly { readonly worktree: ListedWorktree; readonly message: string }[];
}

/**
 * Removes worktrees that nobody uses and with which nothing is lost: unchanged, merged, cut off while they were created;
 * and what is left of those whose directory was deleted. A branch with commits stays, unless others have them too.
 */
export async function pruneWorktrees(home: string, { environment, dryRun }: PruneOptions): Promise<PrunedWorktrees> {
  const removed: ListedWorktree[] = [];
  const kept: ListedWorktree[] = [];
  const failed: { worktree: ListedWorktree; message: string }[] = [];
  for (const worktree of await listWorktrees(home, environment)) {
    const { path, record, state } = worktree;
    // Looked at again: an agent may have been resumed in it meanwhile.
    const now = readRecord(path);
    if (record === undefined || now === undefined || isInUse(now) || !isRemovable(worktree)) {
      kept.push(worktree);
      continue;
    }
    const tip = state.kind === "changed" && state.merged !== undefined ? { tip: state.merged } : {};
    try {
      if (!dryRun) await removeWorktree(record, { environment, ...tip });
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

/** What removals and creations left that were cut off, and directories that are empty now. */
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
      // Not empty.
    }
  }
}
