import { isUtf8 } from "node:buffer";
import { parseJsonLines } from "../lib/index.ts";
import type { Line } from "../protocol/index.ts";
import { isWhole } from "./is-whole.ts";

export interface Problem {
  readonly file: string;
  /** From 1; 0 where it concerns the file as a whole. */
  readonly line: number;
  readonly message: string;
}

export interface ParsedTranscript {
  /** In the order of their ids, each once. Types and fields this version does not know are kept. */
  readonly lines: readonly Line[];
  readonly problems: readonly Problem[];
  /** Where a last line begins that was never finished; undefined when there is none. */
  readonly tornAt: number | undefined;
}

export function parseTranscript(bytes: Uint8Array, file: string): ParsedTranscript {
  const intact = parseIntact(bytes);
  return intact ? { lines: intact, problems: [], tornAt: undefined } : parseEachLine(bytes, file);
}

/** Beyond this one string could get too long for the engine. */
const longestString = 256 << 20;

/**
 * A file nobody damaged is parsed at one go, as one array; it takes half the time of its lines one by one.
 * Numbered without a gap the values are the lines that come after so many. Undefined: look at each.
 */
export function parseIntact(bytes: Uint8Array, before = 0): readonly Line[] | undefined {
  if (bytes.length === 0) return [];
  if (bytes.length > longestString || bytes.at(-1) !== newline || !isUtf8(bytes)) return undefined;
  let values: readonly unknown[];
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length - 1).toString("utf8");
    values = JSON.parse(`[${text.replaceAll("\n", ",")}]`);
  } catch {
    return undefined;
  }
  const isNext = (value: unknown, index: number): boolean => {
    if (typeof value !== "object" || value === null) return false;
    const { v, id, type } = value as Partial<Line>;
    return v === 1 && id === String(before + index + 1) && typeof type === "string" && isWhole(value as Line);
  };
  return values.every(isNext) ? (values as readonly Line[]) : undefined;
}

function parseEachLine(bytes: Uint8Array, file: string): ParsedTranscript {
  const { records, bad, tornTail } = parseJsonLines(bytes);
  const problems: Problem[] = [];
  for (const { line, reason } of bad) {
    problems.push({ file, line, message: `Line ${line} can't be read: ${reason}. That part is skipped.` });
  }
  const tornAt = tornTail ? bytes.lastIndexOf(newline) + 1 : undefined;
  if (tornAt !== undefined) {
    const line = countNewlines(bytes) + 1;
    problems.push({ file, line, message: `Line ${line} was cut off while it was written. It is skipped.` });
  }
  const candidates: Candidate[] = [];
  let sorted = true;
  let last = 0;
  for (const record of records) {
    const { value, line } = record;
    if (!isLine(value)) {
      problems.push({ file, line, message: `Line ${line} is no line of a transcript. It is skipped.` });
      continue;
    }
    if (value.v !== 1) {
      const message = `Line ${line} is of version ${JSON.stringify(value.v)}, newer than this program. It is kept as it is.`;
      problems.push({ file, line, message });
    }
    const id = Number(value.id);
    if (id <= last) sorted = false;
    last = id;
    candidates.push({ id, value, line, text: record.text });
  }
  const unique = sorted ? candidates : dropRepeated(candidates, { file, problems });
  reportGaps(unique, { file, problems });
  problems.sort((left, right) => left.line - right.line);
  return { lines: unique.map((each) => each.value), problems, tornAt };
}

const newline = 10;

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}

interface Candidate {
  readonly id: number;
  readonly value: Line;
  readonly line: number;
  readonly text: string;
}

function isLine(value: unknown): value is Line {
  if (typeof value !== "object" || value === null) return false;
  const { id, type } = value as Partial<Line>;
  if (typeof id !== "string" || !/^[1-9]\d{0,14}$/.test(id) || typeof type !== "string") return false;
  return (value as Line).v !== 1 || isWhole(value as Line);
}

/** An append that was tried again and the write-ahead log may both bring a line a second time. */
function dropRepeated(candidates: Candidate[], { file, problems }: { file: string; problems: Problem[] }): Candidate[] {
  const byId = new Map<number, Candidate>();
  for (const candidate of candidates) {
    const other = byId.get(candidate.id);
    if (other === undefined) {
      byId.set(candidate.id, candidate);
      continue;
    }
    if (other.text === candidate.text) continue;
    const kept = followsItsParent(other) || !followsItsParent(candidate) ? other : candidate;
    const dropped = kept === other ? candidate : other;
    byId.set(candidate.id, kept);
    const message = `Line ${dropped.line} has the id of line ${kept.line} and says something else. It is skipped.`;
    problems.push({ file, line: dropped.line, message });
  }
  return [...byId.values()].sort((left, right) => left.id - right.id);
}

function followsItsParent({ id, value }: Candidate): boolean {
  return value.parentId === (id === 1 ? null : String(id - 1));
}

function reportGaps(candidates: readonly Candidate[], { file, problems }: { file: string; problems: Problem[] }): void {
  let expected = 1;
  for (const { id, line } of candidates) {
    if (id !== expected) {
      const missing = id - expected === 1 ? `entry ${expected} is` : `entries ${expected} to ${id - 1} are`;
      problems.push({ file, line, message: `Before line ${line} ${missing} missing.` });
    }
    expected = id + 1;
  }
}
