import { dirname } from "node:path";
import { type AppendFile, descriptorLimit, openAppendFile } from "../../lib/index.ts";

export type OpenAppendFile = typeof openAppendFile;

export interface FileOwner {
  readonly path: string;
  /** Whether this process created the file. */
  readonly isNew: boolean;
}

/** Transcripts that are open for writing. The number of open files is limited, regardless of the number of agents. */
export interface OpenFiles {
  open(log: FileOwner): AppendFile;
  /** Closes a file whose state is uncertain. The next `open` opens the file again. */
  drop(log: FileOwner): void;
  /** Returns directories whose new entries were not synced before the files were closed. */
  takeUnsyncedDirectories(): string[];
  closeAll(): Promise<void>;
}

const fewAgents = 32;

/** Returns an eighth of the number of available file descriptors, because sockets and tools need some too. */
function filesByDescriptorLimit(): number {
  return Math.min(2_048, Math.floor((descriptorLimit() - 64) / 8));
}

export function createOpenFiles(openFile: OpenAppendFile = openAppendFile, most?: number): OpenFiles {
  // Files ordered by use. The first entry is the least recently used.
  const files = new Map<FileOwner, AppendFile>();
  const unsyncedDirectories = new Set<string>();
  const closing = new Set<Promise<void>>();
  let capacity = most ?? fewAgents;
  let isCapacityKnown = most !== undefined;

  function open(log: FileOwner): AppendFile {
    const known = files.get(log);
    if (known !== undefined) {
      files.delete(log);
      files.set(log, known);
      return known;
    }
    // With many agents, the limit is raised, because reopening a file for every line would be slow.
    if (files.size >= capacity && !isCapacityKnown) {
      isCapacityKnown = true;
      capacity = Math.max(fewAgents, filesByDescriptorLimit());
    }
    for (const oldest of files.keys()) {
      if (files.size < capacity) break;
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
    // Nothing is buffered, so nothing is lost if closing fails.
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
