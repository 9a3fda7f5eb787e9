import { dirname } from "node:path";
import { type AppendFile, createSemaphore, descriptorLimit, makeEmptyFile, openAppendFile } from "../lib/index.ts";

export type OpenAppendFile = typeof openAppendFile;

export interface FileOwner {
  readonly path: string;
  /** The file was created by this process. */
  readonly isNew: boolean;
}

/** The transcripts open for writing: never more than a few, however many agents there are. */
export interface OpenFiles {
  open(log: FileOwner): AppendFile;
  /**
   * Makes an empty file, if it can, while others go on: where many files were deleted a moment ago, a file system looks
   * long for a place for a new one, and a thousand agents may want theirs at once.
   */
  make(log: FileOwner): Promise<void>;
  /** Forgets a file whose state is uncertain; the next `open` looks at it anew. */
  drop(log: FileOwner): void;
  /** Directories with new names that closing has kept from being synced. */
  takeUnsyncedDirectories(): string[];
  closeAll(): Promise<void>;
}

const fewAgents = 32;
/** More threads than that have nothing to do, and each holds a descriptor. */
const MADE_AT_ONCE = 8;

/** An eighth of what there is: sockets and tools want some too. */
function filesByDescriptorLimit(): number {
  return Math.min(2_048, Math.floor((descriptorLimit() - 64) / 8));
}

export function createOpenFiles(openFile: OpenAppendFile = openAppendFile, most?: number): OpenFiles {
  // A Map keeps the order of use: the first is the one used longest ago.
  const files = new Map<FileOwner, AppendFile>();
  const unsyncedDirectories = new Set<string>();
  const closing = new Set<Promise<void>>();
  const making = createSemaphore(MADE_AT_ONCE);
  let room = most ?? fewAgents;
  let isRoomKnown = most !== undefined;

  function open(log: FileOwner): AppendFile {
    const known = files.get(log);
    if (known !== undefined) {
      files.delete(log);
      files.set(log, known);
      return known;
    }
    // Asked only when there are many agents: opening a file for every line would cost more than all else.
    if (files.size >= room && !isRoomKnown) {
      isRoomKnown = true;
      room = Math.max(fewAgents, filesByDescriptorLimit());
    }
    for (const oldest of files.keys()) {
      if (files.size < room) break;
      drop(oldest);
    }
    const file = openFile(log.path, { createDirectory: true });
    files.set(log, file);
    return file;
  }

  function drop(log: FileOwner): void {
    const file = files.get(log);
    if (file === undefined) return;
    files.delete(log);
    const directory = dirname(log.path);
    if (log.isNew) unsyncedDirectories.add(directory).add(dirname(directory));
    // It holds no bytes back, so a failing close loses nothing.
    const closed = file.close().catch(() => {});
    closing.add(closed);
    void closed.then(() => closing.delete(closed));
  }

  async function make({ path }: FileOwner): Promise<void> {
    try {
      await making.run(() => makeEmptyFile(path));
    } catch {
      // The directory is not there yet, or the disk is full: opening it tells.
    }
  }

  return {
    open,
    make,
    drop,
    takeUnsyncedDirectories() {
      const directories = [...unsyncedDirectories];
      unsyncedDirectories.clear();
      return directories;
    },
    async closeAll() {
      for (const log of [...files.keys()]) drop(log);
      await Promise.all(closing);
    },
  };
}
