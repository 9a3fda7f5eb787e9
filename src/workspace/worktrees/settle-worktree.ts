import { describeError } from "../../lib/index.ts";
import type { Worktree } from "./create-worktree.ts";
import { describeState, examineWorktree } from "./examine-worktree.ts";
import type { Environment } from "./git.ts";
import { readRecord, type WorktreeRecord, writeRecord } from "./record.ts";
import { removeWorktree } from "./remove-worktree.ts";

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
  { path, branch }: Pick<Worktree, "path" | "branch">,
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
