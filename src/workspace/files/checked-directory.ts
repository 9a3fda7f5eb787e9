import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { opendir } from "node:fs/promises";
import { basename, dirname, isAbsolute } from "node:path";
import type { DirectoryEntry, FileFailure, Workspace } from "../../ports/index.ts";
import { codeOf, failure, systemFailure } from "./file-stat.ts";

export interface CheckedDirectory {
  readonly ok: true;
  readonly path: string;
  readonly descriptor: number;
  /**
   * Returns a path to an entry in this directory that stays correct even if the directory's own path now leads
   * elsewhere. Use the path immediately.
   */
  within(name: string): string;
  /** Returns false if the path no longer refers to this directory. */
  isStillThere(): boolean;
  close(): void;
}

/**
 * Directory with a link for each open descriptor (Linux only). The link of an open directory can be used in paths to
 * its entries.
 */
const descriptors = process.platform === "linux" ? "/proc/self/fd" : undefined;

/**
 * Flag for opening paths that must not contain symlinks. macOS refuses links anywhere in the path (O_NOFOLLOW_ANY, for
 * which Node has no name), while other systems refuse them only at its end; `isOpenedPath` checks the rest.
 */
export const noFollow = process.platform === "darwin" ? 0x2000_0000 : (constants.O_NOFOLLOW ?? 0);

const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | noFollow;

/**
 * Opens a directory by its real path and keeps it open. With `create`, creates missing directories one by one with this
 * mode, never through a symlink.
 */
export function openCheckedDirectory(
  realPath: string,
  options: { readonly create?: number } = {},
): CheckedDirectory | FileFailure {
  try {
    return checked(openSync(realPath, flags), realPath);
  } catch (error) {
    const parent = dirname(realPath);
    if (codeOf(error) !== "ENOENT" || options.create === undefined || parent === realPath)
      return systemFailure(error, realPath);
    const above = openCheckedDirectory(parent, options);
    return above.ok ? openChild(above, realPath, options.create) : above;
  }
}

function openChild(parent: CheckedDirectory, realPath: string, mode: number): CheckedDirectory | FileFailure {
  const place = parent.within(basename(realPath));
  try {
    makeDirectory(place, mode);
    return checked(openSync(place, flags), realPath);
  } catch (error) {
    return systemFailure(error, realPath);
  } finally {
    parent.close();
  }
}

function makeDirectory(place: string, mode: number): void {
  try {
    mkdirSync(place, mode);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

function checked(descriptor: number, path: string): CheckedDirectory | FileFailure {
  if (!isOpenedPath(descriptor, path)) {
    closeSync(descriptor);
    return failure("moved", `the directory ${path} was moved or replaced by a link`);
  }
  return {
    ok: true,
    path,
    descriptor,
    within: (name) => pathWithin({ descriptor, path }, name),
    isStillThere: () => isOpenedPath(descriptor, path),
    close: () => closeSync(descriptor),
  };
}

/**
 * Returns true if the descriptor refers to the file that is currently at `realPath`, and no symlink was followed to
 * open it.
 */
export function isOpenedPath(descriptor: number, realPath: string): boolean {
  try {
    if (descriptors) return readlinkSync(`${descriptors}/${descriptor}`) === realPath;
    if (realpathSync.native(realPath) !== realPath) return false;
    const opened = fstatSync(descriptor, { bigint: true });
    const named = lstatSync(realPath, { bigint: true });
    return opened.dev === named.dev && opened.ino === named.ino;
  } catch {
    return false;
  }
}

/**
 * Returns a path to `name` that stays in the open directory, even if the directory's path was replaced by a symlink.
 */
function pathWithin(directory: { readonly descriptor: number; readonly path: string }, name: string): string {
  return descriptors ? `${descriptors}/${directory.descriptor}/${name}` : `${directory.path}/${name}`;
}

type ListResult = Awaited<ReturnType<Workspace["list"]>>;

const MAX_ENTRIES = 100_000;
/** Maximum number of entries whose sizes are looked up. Each lookup is a system call. */
const MAX_SIZES = 5_000;

/** Lists a directory in no particular order. `size` is -1 if it was not looked up. */
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
