import { closeSync, fstatSync, openSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { errorCode, monotonic } from "../../lib/index.ts";
import type { FeedPosition } from "../../ports/index.ts";
import { type AgentId, type Line, MAIN_AGENT, type SessionUpdate } from "../../protocol/index.ts";
import { isInUse, readPart } from "../catalog/summarize-session.ts";
import { parseTranscript } from "../reading/parse-transcript.ts";
import { agentIds, agentPath, type SessionPaths, sessionPathsIn } from "../session-paths.ts";
import { numbered, type OldLine, type SessionLine } from "./session-lines.ts";

export interface FollowOptions extends FeedPosition {
  /** Path of the main agent's transcript. */
  readonly path: string;
}

/** Minimum time between two checks of the files. */
const LOOK_EVERY_MS = 100;
/** Maximum share of time to spend on checking the files of a session with many agents. */
const MOST_BUSY = 0.1;

/**
 * Follows a session that any process may be writing: returns the lines of all agents after a position, oldest first,
 * then new lines as they are written. Ends when no process uses the session and everything has been returned, or when
 * the signal fires. Reads the files without a lock and changes nothing.
 */
export async function* followSession(options: FollowOptions): AsyncGenerator<SessionUpdate> {
  const { path, after = 0, signal, onCaughtUp } = options;
  const reader = createReader(sessionPathsIn(dirname(path), basename(path, ".jsonl")), after);
  let isCaughtUp = false;
  while (!signal?.aborted) {
    const startedAt = monotonic();
    // The lock is checked first, because a process writes its last lines before it releases the lock.
    const isRunning = isInUse(reader.paths);
    const look = reader.look({ isRunning });
    for (const update of look.complete) {
      if (signal?.aborted) return;
      yield update;
    }
    if (look.hasMore) continue;
    if (!isCaughtUp) onCaughtUp?.();
    isCaughtUp = true;
    if (!isRunning) return;
    const delay = Math.max(LOOK_EVERY_MS, (monotonic() - startedAt) / MOST_BUSY);
    await wait(delay, undefined, { signal }).catch(() => {});
  }
}

interface Look {
  /** Lines that are safe to return, sorted by number: any line found later will have a higher number. */
  readonly complete: readonly SessionLine[];
  /** Whether lines were found that must not be returned before the next check. */
  readonly hasMore: boolean;
}

/** State of one agent's file. */
interface FollowedFile {
  readonly agentId: AgentId;
  readonly path: string;
  /** Size at the last check. */
  size: number;
  /** End of the last line that was read. */
  offset: number;
  /** Ids of the last lines that were read and returned. */
  read: number;
  returned: number;
  /** Latest time of any line so far. The last line can be earlier if the clock was set back. */
  latest: number;
}

/**
 * Reads new lines of a session. A process writes one line at a time, in the order of their numbers, so all lines up
 * to the highest number in one check are in the files when the next check begins. A single check can miss lines that
 * are written to one file after it was read and before another file is read.
 */
function createReader(paths: SessionPaths, after: number) {
  const files = new Map<AgentId, FollowedFile>();
  let pending: SessionLine[] = [];
  /** Highest number that was found. */
  let highest = 0;

  function look({ isRunning }: { readonly isRunning: boolean }): Look {
    const known = highest;
    const old: OldLine[] = [];
    for (const agentId of [MAIN_AGENT, ...agentIds(paths)]) {
      const file = fileOf(agentId);
      for (const event of newLines(file, isRunning)) {
        file.latest = Math.max(file.latest, event.at);
        if (event.seq === undefined) old.push({ agentId, event, at: file.latest });
        else pending.push({ agentId, seq: event.seq, event });
      }
    }
    pending.push(...numbered(old, known));
    pending.sort((left, right) => left.seq - right.seq);
    highest = Math.max(highest, pending.at(-1)?.seq ?? 0);
    const count = pending.findLastIndex(({ seq }) => seq <= known) + 1;
    const complete = pending.splice(0, count);
    for (const { agentId, event } of complete) {
      const file = fileOf(agentId);
      file.returned = Math.max(file.returned, Number(event.id));
    }
    return { complete: complete.filter(({ seq }) => seq > after), hasMore: pending.length > 0 };
  }

  function fileOf(agentId: AgentId): FollowedFile {
    const known = files.get(agentId);
    if (known !== undefined) return known;
    const path = agentPath(paths, agentId);
    const file = { agentId, path, size: 0, offset: 0, read: 0, returned: 0, latest: 0 };
    files.set(agentId, file);
    return file;
  }

  /** Reads the lines that were added to a file, up to the last complete one. */
  function newLines(file: FollowedFile, isRunning: boolean): readonly Line[] {
    const size = statSync(file.path, { throwIfNoEntry: false })?.size ?? 0;
    if (size < file.offset) startOver(file);
    if (size === file.size && isRunning) return [];
    file.size = size;
    const bytes = readFrom(file.path, file.offset);
    // A process that died may have written its last line without the newline. The line is read if it parses.
    const { lines, tornAt = bytes.length } = parseTranscript(isRunning ? wholeLines(bytes) : bytes, file.path);
    file.offset += isRunning ? wholeLines(bytes).length : tornAt;
    // A line can be repeated after a failed write.
    const fresh = lines.filter(({ id }) => Number(id) > file.read);
    file.read = Number(fresh.at(-1)?.id ?? file.read);
    return fresh;
  }

  /** Called if a file was truncated because a write had failed: the lines that were not returned yet are read again. */
  function startOver(file: FollowedFile): void {
    pending = pending.filter(({ agentId }) => agentId !== file.agentId);
    Object.assign(file, { offset: 0, size: 0, read: file.returned });
  }

  return { paths, look };
}

function wholeLines(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.lastIndexOf(newline) + 1);
}

const newline = 10;

/** Returns the bytes from an offset to the end of a file; none if the file was deleted. */
function readFrom(path: string, offset: number): Uint8Array {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return new Uint8Array();
    throw error;
  }
  try {
    return readPart(descriptor, offset, Math.max(0, fstatSync(descriptor).size - offset));
  } finally {
    closeSync(descriptor);
  }
}
