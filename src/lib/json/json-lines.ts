import { isUtf8 } from "node:buffer";

export interface JsonLine {
  value: unknown;
  /** Line number, starting at 1. */
  line: number;
  /** Position of the record's first byte in the file. */
  offset: number;
  text: string;
}

export interface BadLine {
  line: number;
  offset: number;
  length: number;
  reason: string;
}

export interface JsonLines {
  records: JsonLine[];
  /** Lines that can't be parsed, and that stay in the file. */
  bad: BadLine[];
  /**
   * True if the last line has no newline and does not parse, because its writer died. Such a line is not listed in
   * `bad`.
   */
  tornTail: boolean;
}

/**
 * Parses every readable line of a JSONL file and reports the others. Never throws. Tolerates a byte order mark, CRLF,
 * empty lines, blocks of NUL bytes (left by a power cut), invalid UTF-8, and a last line without a newline if it
 * parses.
 */
export function parseJsonLines(bytes: Uint8Array): JsonLines {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lines: JsonLines = { records: [], bad: [], tornTail: false };
  // Validate the whole file at once. Only a damaged file is validated line by line.
  const intact = isUtf8(buffer);
  let line = 1;
  let start = startsWithMark(buffer) ? 3 : 0;
  while (start < buffer.length) {
    const found = buffer.indexOf(newline, start);
    const end = found < 0 ? buffer.length : found;
    const problem = parseLine(buffer, { start, end, line, intact, lines });
    if (problem && found < 0) lines.tornTail = true;
    else if (problem) lines.bad.push(problem);
    line += 1;
    start = end + 1;
  }
  return lines;
}

const newline = 10;
const carriageReturn = 13;

interface Line {
  start: number;
  end: number;
  line: number;
  intact: boolean;
  lines: JsonLines;
}

function parseLine(buffer: Buffer, { start, end, line, intact, lines }: Line): BadLine | undefined {
  let first = start;
  let stop = end;
  while (first < stop && buffer[first] === 0) first += 1;
  while (stop > first && (buffer[stop - 1] === 0 || buffer[stop - 1] === carriageReturn)) stop -= 1;
  const bad = (reason: string): BadLine => ({ line, offset: start, length: end - start, reason });
  if (first > start && first === stop) return bad("the line contains only NUL bytes");
  if (!intact && !isUtf8(buffer.subarray(first, stop))) return bad("the line is not valid UTF-8");
  const text = buffer.toString("utf8", first, stop);
  if (/^[ \t\r]*$/.test(text)) return undefined;
  try {
    lines.records.push({ value: JSON.parse(text), line, offset: first, text });
  } catch {
    return bad("the line is not valid JSON");
  }
  // A record after a block of NUL bytes is valid, but the lost bytes before it are reported.
  if (first > start)
    lines.bad.push({
      line,
      offset: start,
      length: first - start,
      reason: "NUL bytes precede the record",
    });
  return undefined;
}

function startsWithMark(buffer: Buffer): boolean {
  return buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf;
}
