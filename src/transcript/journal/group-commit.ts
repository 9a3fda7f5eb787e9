import { open } from "node:fs/promises";
import { createDeferred, type Deferred, errorCode } from "../../lib/index.ts";
import type { AgentLog } from "./agent-log.ts";
import { asUserError, type DiskRetry } from "./disk-retry.ts";
import type { OpenFiles } from "./open-files.ts";
import { type WriteAheadLog, walEntry } from "./write-ahead-log.ts";

/**
 * Ensures that lines survive a power cut. Only one sync runs at a time; all callers that arrive during it share the next
 * one.
 */
export interface GroupCommit {
  /** Resolves when all current lines of the agent are safe from a power cut. */
  cover(log: AgentLog): Promise<void>;
  /** Syncs after a short delay, so that files that are being created do not have to wait for the disk. */
  coverSoon(log: AgentLog): void;
  /** Adds a file or directory to the next commit, because lines may refer to it. */
  alsoSync(path: string): void;
  /**
   * Makes everything safe from a power cut. If there are few agents, syncs their files and empties the write-ahead log.
   */
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
    // After a failed sync, the system may have dropped the bytes and still report success for the next sync.
    if (failure !== undefined) return Promise.reject(failure);
    if (log.covered >= log.count && !log.syncInPlace) return Promise.resolve();
    const batch = join(log);
    batch.urgent = true;
    start();
    return batch.done.promise;
  }

  function coverSoon(log: AgentLog): void {
    if (failure !== undefined || (log.covered >= log.count && !log.syncInPlace)) return;
    // No caller is waiting for this sync. A failure is reported to the next caller that does wait.
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
    // Waits a moment, so that requests from the same tick join the same commit.
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

  /**
   * Appends entries to the write-ahead log and syncs it. Both steps are retried together, because bytes that a failed
   * sync has dropped must be written again.
   */
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
      // The file is opened and synced in one step, because a failing append in between would close it.
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
    // Syncing the files of many agents is slow. Their lines are in the write-ahead log, which is read when the session
    // is opened again.
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
    // The path has been deleted (ENOENT), or this system does not sync directories (the other codes).
    if (!["ENOENT", "EINVAL", "EISDIR", "EPERM"].includes(errorCode(error) ?? "")) throw error;
  }
}
