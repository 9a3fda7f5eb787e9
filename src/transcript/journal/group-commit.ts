import { open } from "node:fs/promises";
import { createDeferred, type Deferred, errorCode } from "../../lib/index.ts";
import type { AgentLog } from "./agent-log.ts";
import { asUserError, type DiskRetry } from "./disk-retry.ts";
import type { OpenFiles } from "./open-files.ts";
import { type WriteAheadLog, walEntry } from "./write-ahead-log.ts";

/** Makes lines survive a power cut. One sync runs at a time; all callers that arrive meanwhile share the next one. */
export interface GroupCommit {
  /** Resolves when all current lines of the agent survive a power cut. */
  cover(log: AgentLog): Promise<void>;
  /** Syncs a moment later, so that files which are being created now need not wait for the disk. */
  coverSoon(log: AgentLog): void;
  /** Adds a file or directory to the next commit, because lines may refer to it. */
  alsoSync(path: string): void;
  /** Makes everything survive a power cut. With few agents, syncs their files and empties the write-ahead log. */
  finish(): Promise<void>;
}

export interface GroupCommitOptions {
  readonly wal: WriteAheadLog;
  readonly files: OpenFiles;
  readonly retry: DiskRetry;
  readonly logs: () => Iterable<AgentLog>;
  readonly largestLog?: number;
}

export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { wal, files, retry, logs, largestLog = 16 * 1024 * 1024 } = options;
  const otherPaths = new Set<string>();
  let next: { readonly logs: Set<AgentLog>; readonly done: Deferred<void>; urgent: boolean } | undefined;
  let running: Promise<void> | undefined;
  let soon: NodeJS.Timeout | undefined;
  let failure: unknown;

  function cover(log: AgentLog): Promise<void> {
    // After a failed sync, the system may have dropped the bytes and report success for the next sync.
    if (failure !== undefined) return Promise.reject(failure);
    if (log.covered >= log.count && !log.syncInPlace) return Promise.resolve();
    const batch = join(log);
    batch.urgent = true;
    start();
    return batch.done.promise;
  }

  function coverSoon(log: AgentLog): void {
    if (failure !== undefined || (log.covered >= log.count && !log.syncInPlace)) return;
    // The next caller that waits gets the failure.
    join(log).done.promise.catch(() => {});
    if (running === undefined) startSoon();
  }

  function join(log: AgentLog): NonNullable<typeof next> {
    next ??= { logs: new Set(), done: createDeferred(), urgent: false };
    next.logs.add(log);
    return next;
  }

  function start(): void {
    clearTimeout(soon);
    soon = undefined;
    running ??= commitAll();
  }

  function startSoon(): void {
    soon ??= setTimeout(start, soonMs);
    soon.unref();
  }

  async function commitAll(): Promise<void> {
    // Requests from the same tick belong to the same commit.
    await Promise.resolve();
    let isFirst = true;
    for (let batch = next; batch !== undefined && (batch.urgent || isFirst); batch = next) {
      isFirst = false;
      next = undefined;
      try {
        if (failure !== undefined) throw failure;
        await commit([...batch.logs]);
        if (wal.size > largestLog) await checkpoint();
        batch.done.resolve();
      } catch (error) {
        failure = asUserError(error);
        batch.done.reject(failure);
      }
    }
    running = undefined;
    if (next !== undefined) startSoon();
  }

  async function commit(batch: readonly AgentLog[]): Promise<void> {
    const inPlace = batch.filter((log) => log.syncInPlace);
    const taken = batch.map((log) => ({ log, count: log.count }));
    let entries = "";
    for (const log of batch) {
      for (const text of log.pending) entries += walEntry(log.agentId, text);
      log.pending = [];
      log.pendingBytes = 0;
      log.syncInPlace = false;
    }
    const others = [...otherPaths];
    otherPaths.clear();
    if (inPlace.length > 0) others.push(...files.takeUnsyncedDirectories());
    await Promise.all([
      entries === "" ? undefined : retry.run(() => appendAndSync(entries)),
      syncFiles(inPlace),
      ...others.map(syncPath),
    ]);
    for (const { log, count } of taken) log.covered = Math.max(log.covered, count);
  }

  /** Retried as a whole, because bytes that a failed sync has dropped must be written again. */
  async function appendAndSync(entries: string): Promise<void> {
    wal.append(entries);
    await wal.sync();
  }

  async function syncFiles(list: readonly AgentLog[]): Promise<void> {
    for (let from = 0; from < list.length; from += atOnce) {
      await Promise.all(list.slice(from, from + atOnce).map(syncInPlace));
    }
  }

  async function syncInPlace(log: AgentLog): Promise<void> {
    const { count } = log;
    log.dirty = false;
    try {
      // Opens and syncs in one step, because a failing append in between would close the file.
      const begun = await retry.run(() => ({ sync: files.open(log).sync() }));
      await begun.sync;
    } catch (error) {
      log.dirty = true;
      throw error;
    }
    log.covered = Math.max(log.covered, count);
  }

  async function checkpoint(): Promise<void> {
    await syncFiles([...logs()].filter((log) => log.dirty));
    await Promise.all(files.takeUnsyncedDirectories().map(syncPath));
    await wal.cut();
  }

  async function finish(): Promise<void> {
    if (next !== undefined) {
      next.urgent = true;
      start();
    }
    await running;
    if (failure !== undefined) throw failure;
    const dirty = [...logs()].filter((log) => log.dirty);
    // Syncing the files of many agents is slow. The write-ahead log has their lines, and the next open reads it.
    if (dirty.length > fewFiles) return commit(dirty);
    await Promise.all([...otherPaths].map(syncPath));
    otherPaths.clear();
    await checkpoint();
  }

  return { cover, coverSoon, alsoSync: (path) => otherPaths.add(path), finish };
}

const soonMs = 50;
const atOnce = 8;
const fewFiles = 16;

async function syncPath(path: string): Promise<void> {
  try {
    const file = await open(path, "r");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    // It was deleted meanwhile (ENOENT), or this system does not sync directories (the others).
    if (!["ENOENT", "EINVAL", "EISDIR", "EPERM"].includes(errorCode(error) ?? "")) throw error;
  }
}
