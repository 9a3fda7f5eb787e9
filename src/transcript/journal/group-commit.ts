import { open } from "node:fs/promises";
import { createDeferred, type Deferred, errorCode } from "../../lib/index.ts";
import type { AgentLog } from "./agent-log.ts";
import { asUserError, type DiskRetry } from "./disk-retry.ts";
import type { OpenFiles } from "./open-files.ts";
import { type WriteAheadLog, walEntry } from "./write-ahead-log.ts";

/** Makes lines survive a power cut: one sync is under way at a time, and all who come meanwhile share the next. */
export interface GroupCommit {
  /** Resolves when every line the agent has now is safe. */
  cover(log: AgentLog): Promise<void>;
  /** The same a moment later, for whom nobody waits: while a disk syncs it makes no new files. */
  coverSoon(log: AgentLog): void;
  /** A file or directory that the next commit syncs too, because lines may speak of it. */
  alsoSync(path: string): void;
  /** Makes everything safe; where the agents are few, in their own files, with an empty write-ahead log. */
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
    // After a failed sync the system may have thrown the bytes away and call the next one a success.
    if (failure !== undefined) return Promise.reject(failure);
    if (log.covered >= log.count && !log.syncInPlace) return Promise.resolve();
    const batch = join(log);
    batch.urgent = true;
    start();
    return batch.done.promise;
  }

  function coverSoon(log: AgentLog): void {
    if (failure !== undefined || (log.covered >= log.count && !log.syncInPlace)) return;
    // A failure is told to whoever waits next.
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
    // Who asks in the same moment belongs to the same commit.
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

  /** Tried again as a whole: what a failed sync has dropped must be written anew. */
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
      // Opened and synced in one step: an append that fails in between closes the file.
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
    // Syncing the files of many agents takes longer than all their work; the log has their lines, and the next open looks there.
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
    // Somebody cleaned it up meanwhile, or (EINVAL, EISDIR, EPERM) this system does not sync directories.
    if (!["ENOENT", "EINVAL", "EISDIR", "EPERM"].includes(errorCode(error) ?? "")) throw error;
  }
}
