import { dirname } from "node:path";
import { type AppendFile, descriptorLimit, openAppendFile } from "../../lib/index.ts";

export type OpenAppendFile = typeof openAppendFile;

export interface FileOwner {
  readonly path: string;
  /** The file was created by this process. */
  readonly isNew: boolean;
}

/** The transcripts open for writing: never more than a few, however many agents there are. */
export interface OpenFiles {
  open(log: FileOwner): AppendFile;
  /** Forgets a file whose state is uncertain; the next `open` looks at it anew. */
  drop(log: FileOwner): void;
  /** Directories with new names that closing has kept from being synced. */
  takeUnsyncedDirectories(): string[];
  closeAll(): Promise<void>;
}

const fewAgents = 32;

/** An eighth of what there is: sockets and tools want some too. */
function filesByDescriptorLimit(): number {
  return Math.min(2_048, Math.floor((descriptorLimit() - 64) / 8));
}

export function createOpenFiles(openFile: OpenAppendFile = openAppendFile, most?: number): OpenFiles {
  // A Map keeps the order of use: the first is the one used longest ago.
  const files = new Map<FileOwner, AppendFile>();
  const unsyncedDirectories = new Set<string>();
  const closing = new Set<Promise<void>>();
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

  return {
    open,
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
