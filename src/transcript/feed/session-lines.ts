import { closeSync, openSync, readSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { errorCode, parseJsonLines } from "../../lib/index.ts";
import type { Journal } from "../../ports/index.ts";
import { type AgentId, type Line, MAIN_AGENT } from "../../protocol/index.ts";
import { readTranscript } from "../reading/read-session.ts";
import { agentIds, agentPath, listAgents, type SessionPaths, sessionPathsIn } from "../session-paths.ts";

/** A recorded line with its agent and its position in the session. */
export interface SessionLine {
  readonly agentId: AgentId;
  readonly seq: number;
  readonly event: Line;
}

export type LineSource = Pick<Journal, "agents" | "read">;

/**
 * Reads the lines of all agents in the order they were written. `isKnown` returns true for agents that have no lines
 * after the position.
 */
export async function readSessionLines(
  source: LineSource,
  after: number,
  isKnown: (agentId: AgentId) => boolean = () => false,
): Promise<readonly SessionLine[]> {
  const lines: SessionLine[] = [];
  const old: OldLine[] = [];
  for (const agentId of [MAIN_AGENT, ...(await source.agents())]) {
    if (isKnown(agentId)) continue;
    let latest = 0;
    for (const event of await source.read(agentId)) {
      latest = Math.max(latest, event.at);
      if (event.seq === undefined) old.push({ agentId, event, at: latest });
      else if (event.seq > after) lines.push({ agentId, seq: event.seq, event });
    }
  }
  return [...numbered(old).filter(({ seq }) => seq > after), ...lines.sort((left, right) => left.seq - right.seq)];
}

/** A line that was written before lines had numbers, with a time that is never earlier than the previous line's. */
export interface OldLine {
  readonly agentId: AgentId;
  readonly event: Line;
  readonly at: number;
}

/**
 * Numbers the lines of all agents from `last` + 1 on. Sorts them by time, but keeps the order of each agent's lines.
 */
export function numbered(old: readonly OldLine[], last = 0): readonly SessionLine[] {
  return [...old]
    .sort((left, right) => left.at - right.at)
    .map(({ agentId, event }, index) => ({ agentId, seq: last + index + 1, event }));
}

/** Returns the number of a session's last line. `path` is the main agent's transcript. */
export function lastEventNumber(path: string): number {
  return lastNumber(sessionPathsIn(dirname(path), basename(path, ".jsonl")));
}

/**
 * Returns a string that changes whenever a session's files change. `path` is the main agent's transcript. If the string
 * is the same as before the files were last read, there is nothing new to read.
 */
export function sessionStamp(path: string): string {
  const paths = sessionPathsIn(dirname(path), basename(path, ".jsonl"));
  let [files, bytes, newest] = [0, 0, 0];
  for (const agentId of [MAIN_AGENT, ...agentIds(paths)]) {
    const found = statSync(agentPath(paths, agentId), { throwIfNoEntry: false });
    files += 1;
    bytes += found?.size ?? 0;
    newest = Math.max(newest, found?.mtimeMs ?? 0);
  }
  return `${files} ${bytes} ${newest}`;
}

/** Returns the number of the last line in a session's files. */
export function lastNumber(paths: SessionPaths): number {
  const files = [MAIN_AGENT, ...listAgents(paths)].map((agentId) => agentPath(paths, agentId));
  const last = Math.max(...files.map(lastNumberIn));
  if (last > 0) return last;
  // All lines were written before lines had numbers.
  return files.reduce((count, path) => count + countLines(path), 0);
}

/** Size of the part at the end of a file that is read first. */
const TAIL_BYTES = 16 * 1024;

/** Returns the number of the last line in a file; 0 if no line has a number. */
function lastNumberIn(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return 0;
  const tail = lastSeq(parseJsonLines(readTail(path, size)).records.map(({ value }) => value));
  if (tail > 0 || size <= TAIL_BYTES) return tail;
  return lastSeq(readTranscript(path).lines);
}

/** Returns the number of the last line; 0 if no line has a number. */
export function lastSeq(values: readonly unknown[]): number {
  return values.reduce<number>((last, value) => Math.max(last, Number((value as Partial<Line> | null)?.seq ?? 0)), 0);
}

function readTail(path: string, size: number): Uint8Array {
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
  const file = openSync(path, "r");
  try {
    const read = readSync(file, tail, 0, tail.length, size - tail.length);
    return tail.subarray(0, read);
  } finally {
    closeSync(file);
  }
}

function countLines(path: string): number {
  try {
    return readTranscript(path).lines.length;
  } catch (error) {
    if (errorCode((error as Error).cause) === "ENOENT") return 0;
    throw error;
  }
}
