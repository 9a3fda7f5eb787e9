import { existsSync } from "node:fs";
import { chmod, lstat, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describeError, errorCode } from "../../lib/index.ts";
import { describeState, examineWorktree } from "./examine-worktree.ts";
import { askGit, type Environment } from "./git.ts";
import { baselinePath, readRecord, recordPath, trashPath, type WorktreeRecord, writeRecord } from "./record.ts";

export interface Removal {
  readonly environment: Environment;
  /** Where the branch stands whose end is meant; one that has moved on stays. Where it was made, if absent. */
  readonly tip?: string | undefined;
}

/**
 * Takes a worktree away with its branch, whatever is in it: whoever calls has made sure that nothing is lost. Cut off
 * anywhere, it can be begun again: the record goes last.
 */
export async function removeWorktree(record: WorktreeRecord, { environment, tip }: Removal): Promise<void> {
  const { path, commonDirectory, branch, base, state } = record;
  await deleteTree(trashPath(path));
  // In one step: a directory that is half deleted would look like somebody's work.
  await rename(path, trashPath(path)).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
  if (existsSync(commonDirectory)) {
    const place = { environment, cwd: commonDirectory, gitDirectory: commonDirectory };
    // A creation that was cut off is locked by git itself, which only a second --force overcomes.
    const force = state === "creating" ? ["--force", "--force"] : ["--force"];
    await askGit(["worktree", "remove", ...force, "--", path], place);
    await askGit(["update-ref", "-d", `refs/heads/${branch}`, tip ?? base], place);
  }
  await deleteTree(trashPath(path));
  await rm(baselinePath(path), { force: true });
  await rm(recordPath(path), { force: true });
}

/** Also directories that may not be written to, as package caches have them. */
export async function deleteTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!["EACCES", "EPERM", "ENOTEMPTY"].includes(errorCode(error) ?? "")) throw error;
    await makeWritable(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function makeWritable(directory: string): Promise<void> {
  if (!(await lstat(directory)).isDirectory()) return;
  await chmod(directory, 0o700);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(directory, entry.name));
  }
}

export type SettledWorktree =
  | { readonly state: "removed" }
  | {
      readonly state: "kept";
      readonly path: string;
      readonly branch: string;
      /** One line for people: `3 files changed, 1 commit`. */
      readonly changes: string;
    };

/** What an agent left: removed with its branch if nothing was changed, otherwise kept. In doubt it is kept. Never throws. */
export async function settleWorktree(
  { path, branch }: Pick<WorktreeRecord, "path" | "branch">,
  { environment }: { readonly environment: Environment },
): Promise<SettledWorktree> {
  const keep = (changes: string): SettledWorktree => ({ state: "kept", path, branch, changes });
  try {
    const record = readRecord(path);
    if (record === undefined) return keep("its record is missing");
    const state = await examineWorktree(record, environment);
    const isUnchanged = state.kind === "clean" || (state.kind === "gone" && state.commits === 0);
    if (isUnchanged) return (await remove(record, environment)) ?? { state: "removed" };
    await writeRecord({ ...record, state: "kept" });
    return keep(describeState(state));
  } catch (error) {
    return keep(describeError(error));
  }
}

async function remove(record: WorktreeRecord, environment: Environment): Promise<SettledWorktree | undefined> {
  try {
    await removeWorktree(record, { environment });
    return undefined;
  } catch (error) {
    const changes = `unchanged, but it could not be removed: ${describeError(error)}`;
    return { state: "kept", path: record.path, branch: record.branch, changes };
  }
}
