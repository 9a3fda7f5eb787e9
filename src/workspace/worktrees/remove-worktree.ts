import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { deleteTree, describeError, errorCode } from "../../lib/index.ts";
import { describeState, examineWorktree } from "./examine-worktree.ts";
import { askGit, type Environment } from "./git.ts";
import { baselinePath, readRecord, recordPath, trashPath, type WorktreeRecord, writeRecord } from "./record.ts";

export interface Removal {
  readonly environment: Environment;
  /**
   * Expected tip of the branch; defaults to the commit that the branch was created from. A branch with a different tip
   * is kept.
   */
  readonly tip?: string | undefined;
}

/**
 * Removes a worktree, its branch and everything in them. The caller must have made sure that nothing is lost. Can be
 * repeated after an interruption, because the record is removed last.
 */
export async function removeWorktree(record: WorktreeRecord, { environment, tip }: Removal): Promise<void> {
  const { path, commonDirectory, branch, base, state } = record;
  await deleteTree(trashPath(path));
  // The directory is renamed first, because a partly deleted directory would look changed.
  await rename(path, trashPath(path)).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
  if (existsSync(commonDirectory)) {
    const place = { environment, cwd: commonDirectory, gitDirectory: commonDirectory };
    // Git locks a worktree whose creation was interrupted; only a second --force overrides that.
    const force = state === "creating" ? ["--force", "--force"] : ["--force"];
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const { code, told } = await askGit(["worktree", "remove", ...force, "--", path], place);
      // Git can't list the worktrees while another one is being removed.
      if (code === 0 || told.includes("is not a working tree")) break;
      await wait(attempt * 5);
    }
    await askGit(["update-ref", "-d", `refs/heads/${branch}`, tip ?? base], place);
  }
  await deleteTree(trashPath(path));
  await rm(baselinePath(path), { force: true });
  await rm(recordPath(path), { force: true });
}

const ATTEMPTS = 10;

export type SettledWorktree =
  | { readonly state: "removed" }
  | {
      readonly state: "kept";
      readonly path: string;
      readonly branch: string;
      /** Describes the state in one line for the user, such as `3 files changed, 1 commit`. */
      readonly changes: string;
    };

/**
 * Removes a worktree and its branch after its agent has finished, unless the worktree was changed or can't be examined.
 * A scratch worktree is removed even if files were changed. Never throws.
 */
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
    const isScratch = record.scratch === true && state.kind === "changed" && state.onlyFiles === true;
    if (isUnchanged || isScratch) return (await remove(record, environment)) ?? { state: "removed" };
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
    const changes = `nothing to keep, but it could not be removed: ${describeError(error)}`;
    return { state: "kept", path: record.path, branch: record.branch, changes };
  }
}
