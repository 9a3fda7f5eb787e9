import { unlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { Workspace } from "../../ports/index.ts";
import { openCheckedDirectory } from "./checked-directory.ts";
import { failure, systemFailure } from "./file-stat.ts";
import { refusalFor, targetAt } from "./write-whole-file.ts";

/** Deletes a regular file. Deletes nothing if a directory in the path has been replaced with a symlink. */
export async function removeFile(
  realPath: string,
  { expect }: Parameters<Workspace["remove"]>[1],
): ReturnType<Workspace["remove"]> {
  const directory = openCheckedDirectory(dirname(realPath));
  if (!directory.ok) return directory;
  const entry = directory.within(basename(realPath));
  try {
    const refusal = refusalFor(targetAt(entry, realPath), { realPath, expect });
    if (refusal) return refusal;
    if (!directory.isStillThere())
      return failure("moved", `the directory of ${realPath} was moved or replaced by a link`);
    unlinkSync(entry);
    return { ok: true };
  } catch (error) {
    return systemFailure(error, realPath);
  } finally {
    directory.close();
  }
}
