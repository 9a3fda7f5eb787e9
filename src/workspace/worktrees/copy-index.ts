import { copyFile, mkdtemp, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** With its time, by which git knows which files may have changed since. */
export async function copyIndex(from: string, to: string): Promise<void> {
  const { atime, mtime } = await stat(from);
  await copyFile(from, to);
  await utimes(to, atime, mtime);
}

/** For looking with an index that git would otherwise write to. */
export async function withIndexCopy<Result>(from: string, work: (index: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), "retinue-index-"));
  try {
    const index = join(directory, "index");
    await copyIndex(from, index);
    return await work(index);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
