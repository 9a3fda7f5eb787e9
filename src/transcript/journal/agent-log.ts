import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode } from "../../lib/index.ts";
import type { Checkpoint, Clock, NewCheckpoint } from "../../ports/index.ts";
import type { AgentId, DurableEvent, Line } from "../../protocol/index.ts";
import { type Problem, parseTranscript } from "../reading/parse-transcript.ts";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { asUserError, type DiskRetry } from "./disk-retry.ts";
import type { OpenFiles } from "./open-files.ts";

/** State of one agent's transcript in this process. */
export interface AgentLog {
  readonly agentId: AgentId;
  readonly path: string;
  /** Id of the last line. */
  count: number;
  /** Size of the file up to the end of the last acknowledged line; undefined until the file is opened for writing. */
  end: number | undefined;
  /** Text of the lines that are not in the write-ahead log yet. */
  pending: string[];
  pendingBytes: number;
  /** Whether the next sync must sync the file itself, because some lines are not in the write-ahead log. */
  syncInPlace: boolean;
  /** Id of the last line that is safe from a power cut, together with all lines before it. */
  covered: number;
  /** Whether the file has bytes that have not been synced. */
  dirty: boolean;
  /**
   * Whether lines must be counted again before the next append, because a failed append may have left complete lines
   * behind.
   */
  uncounted: boolean;
  /** Whether this process created the file. */
  isNew: boolean;
  /** Settles when the last queued append is done; later appends wait for this promise. */
  tail: Promise<void> | undefined;
  /** Lines that were parsed while the file was loaded, until a caller takes them or they become outdated. */
  loaded: readonly Line[] | undefined;
  /** Checkpoint and the lines after it, if the checkpoint made it unnecessary to parse the earlier lines. */
  kept: { readonly checkpoint: Checkpoint; readonly lines: readonly Line[] } | undefined;
  /** Number of lines that the newest checkpoint covers. */
  keptLines: number;
  /** Whether the file was read without problems. */
  isIntact: boolean;
}

export function newAgentLog(agentId: AgentId, path: string): AgentLog {
  return {
    agentId,
    path,
    count: 0,
    end: undefined,
    pending: [],
    pendingBytes: 0,
    syncInPlace: false,
    covered: 0,
    dirty: false,
    uncounted: false,
    isNew: true,
    tail: undefined,
    loaded: undefined,
    kept: undefined,
    keptLines: 0,
    isIntact: true,
  };
}

/** Reads an agent's file. Moves a torn last line to another file, so that the next line starts cleanly. */
export function loadAgentLog(
  agentId: AgentId,
  path: string,
  checkpointPath?: string,
): { log: AgentLog; problems: readonly Problem[] } {
  const log = newAgentLog(agentId, path);
  // Most agents are new, and an exception for each of them would be slow.
  const bytes = existsSync(path) ? readIfExists(path) : undefined;
  if (bytes === undefined) return { log, problems: [] };
  const kept = checkpointPath === undefined ? undefined : readCheckpoint(checkpointPath, bytes);
  const newer = kept && parseTranscript(bytes.subarray(kept.size), path, { before: kept.lines });
  if (kept && newer && newer.problems.length === 0) {
    log.kept = { checkpoint: kept.checkpoint, lines: newer.lines };
    log.keptLines = kept.lines;
    return { log: asFound(log, kept.lines + newer.lines.length), problems: [] };
  }
  const { lines, problems, tornAt } = parseTranscript(bytes, path);
  const all = [...problems];
  if (tornAt !== undefined) {
    const copy = setAside(path, bytes, tornAt);
    if (copy !== undefined)
      all.push({ file: path, line: 0, message: `Its incomplete last line was moved to ${copy}.` });
  }
  log.loaded = lines;
  log.isIntact = all.length === 0;
  return { log: asFound(log, lastId(lines)), problems: all };
}

function asFound(log: AgentLog, count: number): AgentLog {
  log.isNew = false;
  log.count = count;
  // An earlier process may have synced only part of the file.
  log.syncInPlace = count > 0;
  log.dirty = count > 0;
  return log;
}

interface AppendOptions {
  readonly files: OpenFiles;
  readonly retry: DiskRetry;
  readonly clock: Clock;
  readonly sequence: Sequence;
}

/** Numbers the lines in a session. */
export interface Sequence {
  /** Number of the last line that was written. */
  last: number;
  /** Called for all lines, in the order they were written. */
  written(agentId: AgentId, lines: readonly Line[]): void;
}

/**
 * Appends events, synchronously if possible. If the disk is full, waits; later appends for the same agent are queued.
 */
export function appendLines(
  log: AgentLog,
  events: readonly DurableEvent[],
  { files, retry, clock, sequence }: AppendOptions,
): readonly Line[] | Promise<readonly Line[]> {
  if (events.length === 0) return [];
  let batch: Batch | undefined;
  const write = (): readonly Line[] => {
    // If a failed attempt may have left complete lines behind, the same lines are written again, and dropped as
    // duplicates when the file is read. Otherwise, the lines get new numbers, because other agents may have used the
    // old ones since then.
    if (batch === undefined || !log.uncounted)
      batch = prepareBatch(log, events, { at: clock.now(), after: sequence.last });
    writeBatch(log, batch, files);
    sequence.last = Math.max(sequence.last, batch.lines.at(-1)?.seq ?? 0);
    sequence.written(log.agentId, batch.lines);
    return batch.lines;
  };
  if (log.tail === undefined) {
    try {
      return write();
    } catch (error) {
      if (!retry.isTransient(error)) return Promise.reject(asUserError(error));
    }
  }
  return inTurn(log, () => retry.run(write));
}

function inTurn<T>(log: AgentLog, action: () => Promise<T>): Promise<T> {
  const result = (log.tail ?? Promise.resolve()).then(action);
  const settled = result.then(
    () => {},
    () => {},
  );
  log.tail = settled;
  void settled.then(() => {
    if (log.tail === settled) log.tail = undefined;
  });
  return result;
}

/** Saves a checkpoint. Never throws, because without a checkpoint, the next process just reads all lines. */
export function keepCheckpoint(log: AgentLog, path: string, make: () => NewCheckpoint | undefined): void {
  if (!log.isIntact || log.uncounted || log.tail !== undefined) return;
  try {
    const checkpoint = make();
    if (checkpoint === undefined) return;
    writeCheckpoint(path, checkpoint, { transcript: readFileSync(log.path), lines: log.count });
    log.keptLines = log.count;
  } catch {
    // The checkpoint is optional, so errors such as a full disk are ignored.
  }
}

export function readLines(path: string): readonly Line[] {
  const bytes = readIfExists(path);
  return bytes === undefined ? [] : parseTranscript(bytes, path).lines;
}

interface Batch {
  readonly lines: readonly Line[];
  readonly texts: readonly string[];
}

/** Assigns numbers to the events without reserving the numbers. */
function prepareBatch(
  log: AgentLog,
  events: readonly DurableEvent[],
  { at, after }: { readonly at: number; readonly after: number },
): Batch {
  if (log.uncounted) {
    log.count = Math.max(log.count, lastId(readLines(log.path)));
    log.uncounted = false;
  }
  const lines: Line[] = [];
  const texts: string[] = [];
  for (const event of events) {
    const last = log.count + lines.length;
    const parentId = last === 0 ? null : String(last);
    const line: Line = { v: 1, id: String(last + 1), parentId, seq: after + lines.length + 1, at, ...event };
    lines.push(line);
    texts.push(JSON.stringify(line));
  }
  return { lines, texts };
}

/** Writes all lines or none. Throws the file system's error. */
function writeBatch(log: AgentLog, batch: Batch, files: OpenFiles): void {
  appendTexts(log, batch.texts, files);
  log.count += batch.lines.length;
  if (log.syncInPlace) return;
  for (const text of batch.texts) {
    log.pending.push(text);
    log.pendingBytes += text.length;
  }
  if (log.pendingBytes > mostPending) syncFileNext(log);
}

export function appendTexts(log: AgentLog, texts: readonly string[], files: OpenFiles): void {
  log.loaded = undefined;
  log.kept = undefined;
  try {
    const file = files.open(log);
    log.end ??= file.size;
    file.append(`${texts.join("\n")}\n`);
    log.end = file.size;
    log.dirty = true;
  } catch (error) {
    takeBack(log, files);
    throw error;
  }
}

/** Maximum size in bytes of the pending lines in memory. If they exceed it, the file itself is synced. */
const mostPending = 1024 * 1024;

function syncFileNext(log: AgentLog): void {
  log.pending = [];
  log.pendingBytes = 0;
  log.syncInPlace = true;
}

/** Removes the remains of a failed append, which were never acknowledged. */
function takeBack(log: AgentLog, files: OpenFiles): void {
  files.drop(log);
  if (log.end === undefined) return;
  try {
    truncateSync(log.path, log.end);
  } catch {
    // The remains become a separate line, which is skipped or dropped as a duplicate when the file is read.
    log.uncounted = true;
    syncFileNext(log);
  }
}

function lastId(lines: readonly Line[]): number {
  return Number(lines.at(-1)?.id ?? 0);
}

function setAside(path: string, bytes: Uint8Array, from: number): string | undefined {
  try {
    const copy = writeCopy(path, bytes.subarray(from));
    truncateSync(path, from);
    return copy;
  } catch {
    // The torn line stays in the file; the next append starts with a newline.
    return undefined;
  }
}

function writeCopy(path: string, bytes: Uint8Array): string {
  for (let number = 1; ; number++) {
    const copy = `${path}.damaged-${number}`;
    let descriptor: number;
    try {
      descriptor = openSync(copy, "wx", 0o600);
    } catch (error) {
      if (errorCode(error) === "EEXIST") continue;
      throw error;
    }
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    syncDirectoryNow(dirname(path));
    return copy;
  }
}

function syncDirectoryNow(path: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export function readIfExists(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
