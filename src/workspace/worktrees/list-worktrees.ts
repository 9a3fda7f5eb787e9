import { type Dirent, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../lib/index.ts";
import { examineWorktree, type WorktreeState } from "./examine-worktree.ts";
import type { Environment } from "./git.ts";
import { isInUse, readRecord, type WorktreeRecord } from "./record.ts";

export interface ListedWorktree {
  readonly path: string;
  /** Absent where nothing is known of the directory. */
  readonly record?: WorktreeRecord;
  /** A process makes it or works in it. */
  readonly inUse: boolean;
  readonly state: WorktreeState;
}

/** All of them in `<home>/worktrees`, oldest first. */
export async function listWorktrees(home: string, environment: Environment): Promise<readonly ListedWorktree[]> {
  const listed: ListedWorktree[] = [];
  for (const path of worktreePaths(home)) {
    const record = readRecord(path);
    if (record === undefined)
      listed.push({ path, inUse: false, state: { kind: "orphan", why: "nothing is known of it" } });
    else listed.push({ path, record, inUse: isInUse(record), state: await examineWorktree(record, environment) });
  }
  return listed.sort((left, right) => (left.record?.createdAt ?? 0) - (right.record?.createdAt ?? 0));
}

/** The directories of projects, by their real paths. */
export function projectDirectories(home: string): string[] {
  const root = join(home, "worktrees");
  return entriesOf(root)
    .filter((entry) => entry.isDirectory())
    .map((entry) => realpathSync.native(join(root, entry.name)));
}

export function entriesOf(directory: string): Dirent[] {
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
