import { existsSync } from "node:fs";
import { chmod, lstat, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../lib/index.ts";
import { askGit, type Environment } from "./git.ts";
import { baselinePath, recordPath, trashPath, type WorktreeRecord } from "./record.ts";

export interface Removal {
  readonly environment: Environment;
  /** Where the branch stands whose end is meant; one that has moved on stays. Where it was made, if absent. */
  readonly tip?: string;
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
