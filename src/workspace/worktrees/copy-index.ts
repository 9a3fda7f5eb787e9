import { copyFile, mkdtemp, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";

/** With its time, by which git knows which files may have changed since. */
export async function copyIndex(from: string, to: string): Promise<void> {
  const { atime, mtime } = await stat(from);
  await copyFile(from, to);
  await utimes(to, atime, mtime);
}

/** For looking with an index that git writes to. `beside`: a git directory of a worktree, with which it goes at the latest. */
export async function withIndexCopy<Result>(
  { from, beside }: { readonly from: string; readonly beside: string },
  work: (index: string) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(beside, "retinue-"));
  try {
    const index = join(directory, "index");
    await copyIndex(from, index);
    return await work(index);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
