import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { basename, dirname } from "node:path";
import { errorCode, FileCache, lockOwner, parseJsonLines } from "../../lib/index.ts";
import {
  type EndReason,
  type EventOf,
  isUnfinished,
  type Line,
  MAIN_AGENT,
  type Outcome,
  type SessionId,
  textOf,
} from "../../protocol/index.ts";
import { agentIds, agentPath, type SessionPaths, sessionPaths, sessionPathsIn } from "../session-paths.ts";

/** A session in a list. */
export interface SessionSummary {
  readonly id: SessionId;
  readonly project: string;
  readonly path: string;
  /** Directory in which the session was started. Undefined if unknown. */
  readonly cwd: string | undefined;
  readonly createdAt: number | undefined;
  readonly updatedAt: number;
  /** Start of the first prompt, on one line. */
  readonly firstPrompt: string | undefined;
  /** Outcome of the last run; undefined while the session is running, and after a crash. */
  readonly lastOutcome: Outcome | undefined;
  readonly lastReason: EndReason | undefined;
  /** Set if the last run ended because the price of its model is unknown, so a budget in dollars can't be enforced. */
  readonly unpriced?: true | undefined;
  /** Whether the last run passed its acceptance check; undefined if it had no check. */
  readonly verified: boolean | undefined;
  /** Number of the main agent's turns in all runs. */
  readonly turns: number;
  /** Model of the last run; undefined before the first run. */
  readonly model: string | undefined;
  readonly inUse: boolean;
  /** Describes the damage if the session can't be read properly. Undefined otherwise. */
  readonly damaged: string | undefined;
}

/** Summarizes a session. Reads only the start and the end of the file, so that listing long sessions is fast. */
export function summarizeSession(
  place: { home: string; project: string; sessionId: SessionId },
  cache = new FileCache(),
): SessionSummary {
  const paths = sessionPaths(place);
  const ends = cache.get(paths.transcript, () => readEnds(paths.transcript));
  const first = ends.head[0];
  const created = first?.type === "session.created" ? first : undefined;
  const prompt = ends.head.find((line) => line.type === "prompt.received");
  const started = ends.tail.findLast((line) => line.type === "run.started") ?? runStartedIn(ends.head);
  const last = ends.tail.at(-1) ?? ends.head.at(-1);
  return {
    id: place.sessionId,
    project: place.project,
    path: paths.transcript,
    cwd: typeof created?.cwd === "string" ? created.cwd : undefined,
    createdAt: first?.at,
    updatedAt: typeof last?.at === "number" ? last.at : ends.modifiedAt,
    firstPrompt: Array.isArray(prompt?.content) ? shorten(textOf(prompt.content)) : undefined,
    lastOutcome: lastEnd(ends.tail)?.outcome,
    lastReason: lastEnd(ends.tail)?.reason,
    unpriced: lastEnd(ends.tail)?.limit?.unpriced,
    verified: lastEnd(ends.tail)?.acceptance?.ok,
    turns: lastTurn(ends.tail),
    model: started?.model,
    inUse: isInUse(paths),
    damaged: ends.problem ?? (created === undefined ? "Its first line is missing or damaged." : undefined),
  };
}

export function isInUse(paths: SessionPaths): boolean {
  try {
    return lockOwner(paths.lock) !== undefined;
  } catch {
    // If the lock can't be read, the session may be in use.
    return true;
  }
}

interface Ends {
  readonly head: readonly Line[];
  readonly tail: readonly Line[];
  readonly modifiedAt: number;
  readonly problem: string | undefined;
}

function readEnds(path: string): Ends {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch (error) {
    const problem =
      errorCode(error) === "ENOENT" ? "Its main transcript is missing." : `It can't be opened (${errorCode(error)}).`;
    return { head: [], tail: [], modifiedAt: 0, problem };
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile())
      return { head: [], tail: [], modifiedAt: stat.mtimeMs, problem: "Its main transcript is not a file." };
    const head = widen(
      stat.size,
      (bytes) => linesOf(readPart(descriptor, 0, bytes)),
      (lines) => lines.some((line) => line.type === "prompt.received"),
    );
    const tail = widen(
      stat.size,
      (bytes) => linesOf(readPart(descriptor, stat.size - bytes, bytes)),
      (lines) => lines.some(isTurn),
    );
    return {
      head,
      tail,
      modifiedAt: stat.mtimeMs,
      problem: head.length === 0 ? "Its first lines can't be read." : undefined,
    };
  } catch (error) {
    return { head: [], tail: [], modifiedAt: 0, problem: `It can't be read (${errorCode(error) ?? String(error)}).` };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Reads larger and larger parts of the file, up to a limit, until they contain enough lines. A single line can be long.
 */
function widen(size: number, read: (bytes: number) => Line[], enough: (lines: Line[]) => boolean): Line[] {
  let lines: Line[] = [];
  for (let bytes = 4 * 1024; bytes <= 2 * 1024 * 1024; bytes *= 8) {
    lines = read(Math.min(bytes, size));
    if (bytes >= size || enough(lines)) break;
  }
  return lines;
}

export function readPart(descriptor: number, from: number, length: number): Uint8Array {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const read = readSync(descriptor, bytes, done, length - done, from + done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

/**
 * Returns the complete lines of a part of the file. Incomplete lines at its start and end do not parse and are skipped.
 */
function linesOf(bytes: Uint8Array): Line[] {
  const lines: Line[] = [];
  for (const { value } of parseJsonLines(bytes).records) {
    const line = value as Partial<Line> | null;
    if (typeof line === "object" && line !== null && typeof line.type === "string") lines.push(line as Line);
  }
  return lines;
}

function runStartedIn(lines: readonly Line[]) {
  return lines.findLast((line) => line.type === "run.started");
}

/** Returns the end of the last run; undefined if that run has not ended. */
function lastEnd(tail: readonly Line[]): EventOf<"run.ended"> | undefined {
  const last = tail.findLast((line) => line.type === "run.ended" || line.type === "run.started");
  return last?.type === "run.ended" ? last : undefined;
}

/** Turns are numbered across all runs of a session. */
function lastTurn(tail: readonly Line[]): number {
  const last = tail.findLast(isTurn);
  return last === undefined ? 0 : Number(last.turn) || 0;
}

function isTurn(line: Line): line is Extract<Line, { type: "model.requested" | "model.ended" }> {
  return line.type === "model.requested" || line.type === "model.ended";
}

function shorten(text: string): string {
  const line = text.slice(0, 2_000).replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length > 200 ? `${characters.slice(0, 199).join("")}…` : line;
}

/** Returns how the last run in a transcript ended; undefined if it has not ended. Reads only the ends of the file. */
export function lastRunEnd(path: string): EventOf<"run.ended"> | undefined {
  return lastEnd(readEnds(path).tail);
}

/**
 * Returns whether any agent in a session was working when its process ended. `path` is the main agent's transcript.
 * Reads only the ends of the files.
 */
export function hasUnfinishedRun(path: string): boolean {
  const paths = sessionPathsIn(dirname(path), basename(path, ".jsonl"));
  return [MAIN_AGENT, ...agentIds(paths)].some((agentId) => {
    const { head, tail } = readEnds(agentPath(paths, agentId));
    const end = lastEnd(tail);
    if (end !== undefined) return isUnfinished(end);
    return runStartedIn(tail) !== undefined || runStartedIn(head) !== undefined;
  });
}
