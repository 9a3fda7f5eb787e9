import { type Dirent, lstatSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { DirectoryEntry, Workspace } from "../ports/index.ts";
import { type CheckedDirectory, openCheckedDirectory } from "./checked-directory.ts";
import { failure, systemFailure } from "./file-stat.ts";

type ListResult = Awaited<ReturnType<Workspace["list"]>>;

const MAX_ENTRIES = 100_000;
/** Sizes beyond this many entries are not looked up: nobody reads them, and each costs a system call. */
const MAX_SIZES = 5_000;

/** Names in no particular order. `size` is -1 where it was not looked up. */
export async function listDirectory(realPath: string): Promise<ListResult> {
  if (!isAbsolute(realPath)) return failure("invalid_path", `not an absolute path: ${JSON.stringify(realPath)}`);
  const directory = openCheckedDirectory(realPath);
  if (!directory.ok) return directory;
  try {
    const entries: DirectoryEntry[] = [];
    for await (const entry of await opendir(directory.within("."), { bufferSize: 512 })) {
      if (entries.length === MAX_ENTRIES)
        return failure(
          "too_large",
          `${realPath} has more than ${MAX_ENTRIES} entries; search it with a pattern instead`,
        );
      entries.push(describe(entry, entries.length < MAX_SIZES ? directory : undefined));
    }
    return { ok: true, entries };
  } catch (error) {
    return systemFailure(error, realPath);
  } finally {
    directory.close();
  }
}

function describe(entry: Dirent, directory: CheckedDirectory | undefined): DirectoryEntry {
  const { name } = entry;
  if (entry.isDirectory()) return { name, kind: "directory", size: 0 };
  if (entry.isSymbolicLink()) return { name, kind: "link", size: 0 };
  if (!entry.isFile()) return { name, kind: "other", size: 0 };
  return { name, kind: "file", size: directory ? sizeOf(directory.within(name)) : -1 };
}

function sizeOf(path: string): number {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.size ?? -1;
  } catch {
    return -1;
  }
}
