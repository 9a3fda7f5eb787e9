import { closeSync, constants, fdatasync, fstatSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../errors.ts";

export interface AppendFile {
  readonly path: string;
  /** Number of bytes in the file, as last seen by this writer. */
  readonly size: number;
  /**
   * Appends whole lines, each with its newline. Returns once the operating system has accepted every byte, so that the
   * lines survive a crash of this process; throws an AppendError otherwise. Writes a newline first if the file ends in
   * a torn line.
   */
  append(text: string | Uint8Array): void;
  /** Resolves when everything appended before the call, and the file's directory entry, would survive a power cut. */
  sync(): Promise<void>;
  /** Closes the file without syncing it. Waits for a sync in progress; otherwise closes synchronously. */
  close(): Promise<void>;
}

/**
 * A failed append. The first `bytesWritten` bytes may be in the file as a torn line. The whole text can be appended
 * again.
 */
export class AppendError extends Error {
  readonly code: string | undefined;
  readonly path: string;
  readonly bytesWritten: number;

  constructor(path: string, { bytesWritten, cause }: { bytesWritten: number; cause: unknown }) {
    super(`Could not append to ${path} (${bytesWritten} bytes were written): ${String(cause)}`, { cause });
    this.name = "AppendError";
    this.code = errorCode(cause);
    this.path = path;
    this.bytesWritten = bytesWritten;
  }
}

export function openAppendFile(
  path: string,
  { createDirectory = false, mode = 0o600 }: { createDirectory?: boolean; mode?: number } = {},
): AppendFile {
  const { descriptor, firstCreated } = openOrCreate(path, { createDirectory, mode });
  let size: number;
  let torn: boolean;
  try {
    size = fstatSync(descriptor).size;
    torn = size > 0 && lastByte(descriptor, size) !== newline;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  // An empty file may be new, in which case its directory has not been synced yet.
  const unsyncedDirectories = size === 0 ? directoriesToSync(dirname(path), firstCreated) : [];
  let closed = false;
  let syncedSize = -1;
  let syncing: Promise<void> | undefined;
  let nextSync: Promise<void> | undefined;

  function append(text: string | Uint8Array): void {
    if (closed) throw new Error(`${path} is closed; nothing can be appended.`);
    const record = typeof text === "string" ? Buffer.from(text) : text;
    if (record.length === 0) return;
    const repair = torn ? 1 : 0;
    const bytes = torn ? Buffer.concat([newlineBytes, record]) : record;
    let written = 0;
    try {
      // A full disk first shows up as a short write without an error.
      while (written < bytes.length) written += writeSync(descriptor, bytes, written, bytes.length - written);
    } catch (cause) {
      throw new AppendError(path, { bytesWritten: Math.max(0, written - repair), cause });
    } finally {
      size += written;
      if (written > 0) torn = bytes[written - 1] !== newline;
    }
  }

  function sync(): Promise<void> {
    if (closed) return Promise.reject(new Error(`${path} is closed; it can't be synced.`));
    if (!syncing) return startSync();
    // The sync in progress may have started before this caller's append, so all waiting callers share the next one.
    nextSync ??= syncing
      .catch(() => {})
      .then(() => {
        nextSync = undefined;
        return startSync();
      });
    return nextSync;
  }

  function startSync(): Promise<void> {
    if (size === syncedSize) return Promise.resolve();
    syncing = syncNow().finally(() => {
      syncing = undefined;
    });
    return syncing;
  }

  async function syncNow(): Promise<void> {
    const upTo = size;
    await dataSync(descriptor);
    for (let directory = unsyncedDirectories[0]; directory !== undefined; directory = unsyncedDirectories[0]) {
      await syncDirectory(directory);
      unsyncedDirectories.shift();
    }
    syncedSize = upTo;
  }

  async function close(): Promise<void> {
    if (closed) return;
    closed = true;
    const pending = nextSync ?? syncing;
    // Close synchronously where possible, so that a thousand closing files do not stay open at the same time.
    if (pending !== undefined) await pending.catch(() => {});
    closeSync(descriptor);
  }

  return {
    path,
    get size() {
      return size;
    },
    append,
    sync,
    close,
  };
}

/** Syncs a directory, so that files created or renamed in it survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  // Windows can't open directories, and they need no syncing there.
  if (process.platform === "win32") return;
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

const newline = 10;
const newlineBytes = Buffer.from("\n");
const dataSync = promisify(fdatasync);

/**
 * Opens the file, or creates it and its directories. Leaves syncing the directories to the first `sync`, so that
 * opening never waits for the disk.
 */
function openOrCreate(
  path: string,
  { createDirectory, mode }: { createDirectory: boolean; mode: number },
): { descriptor: number; firstCreated?: string | undefined } {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  try {
    return { descriptor: openSync(path, flags, mode) };
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || !createDirectory) throw error;
  }
  const firstCreated = mkdirSync(dirname(path), { recursive: true, mode: mode | executeWhereReadable(mode) });
  return { descriptor: openSync(path, flags, mode), firstCreated };
}

function executeWhereReadable(mode: number): number {
  return (mode & 0o444) >> 2;
}

/** Lists the parent directories of the file and of all created directories. */
function directoriesToSync(directory: string, firstCreated: string | undefined): string[] {
  const list = [directory];
  if (firstCreated === undefined) return list;
  const last = dirname(firstCreated);
  for (let current = directory; current !== last && current !== dirname(current); ) {
    current = dirname(current);
    list.push(current);
  }
  return list;
}

function lastByte(descriptor: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  return readSync(descriptor, byte, 0, 1, size - 1) === 1 ? byte[0] : undefined;
}
