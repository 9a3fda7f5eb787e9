import { isUtf8 } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";

export interface JsonLine {
  value: unknown;
  /** From 1. */
  line: number;
  /** Of the record's first byte in the file. */
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
  /** Lines that hold something unreadable; their bytes are left where they are. */
  bad: BadLine[];
  /** The last line has no newline and does not parse: it was being written when the writer died. It is not among `bad`. */
  tornTail: boolean;
}

/**
 * Reads what can be read of a JSONL file and says what can't. Never throws. Tolerates a byte order mark, CRLF, empty lines,
 * blocks of NUL (left by a power cut), invalid UTF-8, and a last line without a newline (accepted when it parses).
 */
export function parseJsonLines(bytes: Uint8Array): JsonLines {
  return parseBlock(asBuffer(bytes), { line: 1, offset: 0, last: true }).lines;
}

export interface ReadOptions {
  chunkBytes?: number;
  /** A longer line is reported as bad and not kept in memory. */
  maxLineBytes?: number;
}

/** The same for a file of any size: gives the lines of each chunk as it is read. Rejects only when the file can't be read. */
export async function* readJsonLines(
  path: string,
  { chunkBytes = 4 << 20, maxLineBytes = 256 << 20 }: ReadOptions = {},
): AsyncGenerator<JsonLines> {
  const file = await open(path, "r");
  try {
    let line = 1;
    for await (const { bytes, offset, last, skipped } of readBlocks(file, { chunkBytes, maxLineBytes })) {
      const reason = `the line is longer than ${maxLineBytes} bytes`;
      const tooLong = skipped === 0 ? [] : [{ line, offset: offset - skipped, length: skipped, reason }];
      const { lines, nextLine } = parseBlock(bytes, { line: line + tooLong.length, offset, last });
      line = nextLine;
      yield { ...lines, bad: [...tooLong, ...lines.bad] };
    }
  } finally {
    await file.close();
  }
}

interface Block {
  /** Whole lines; in the last block also what stands behind the last newline. */
  bytes: Buffer;
  offset: number;
  last: boolean;
  /** Length of an overlong line that stood before the block. */
  skipped: number;
}

async function* readBlocks(
  file: FileHandle,
  { chunkBytes, maxLineBytes }: Required<ReadOptions>,
): AsyncGenerator<Block> {
  let position = 0;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  while (true) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, position);
    const chunk = buffer.subarray(0, bytesRead);
    const last = bytesRead === 0;
    const end = chunk.lastIndexOf(newline) + 1;
    if (last || end > 0) {
      const overlong = pendingBytes > maxLineBytes;
      const start = overlong ? chunk.indexOf(newline) + 1 : 0;
      const skipped = overlong ? pendingBytes + start : 0;
      // The pieces of a long line are joined once, at its end.
      const bytes = Buffer.concat([...pending, chunk.subarray(start, end)]);
      yield { bytes, offset: position - pendingBytes + skipped, last, skipped };
      if (last) return;
      pending = [];
      pendingBytes = 0;
    }
    pending.push(chunk.subarray(end));
    pendingBytes += bytesRead - end;
    if (pendingBytes > maxLineBytes) pending = [];
    position += bytesRead;
  }
}

const newline = 10;
const carriageReturn = 13;

interface Start {
  line: number;
  offset: number;
  /** No further bytes follow the block. */
  last: boolean;
}

function parseBlock(block: Buffer, { line, offset, last }: Start): { lines: JsonLines; nextLine: number } {
  const lines: JsonLines = { records: [], bad: [], tornTail: false };
  // One quick look at the whole; only a block that is damaged is looked at line by line.
  const intact = isUtf8(block);
  let nextLine = line;
  let start = offset === 0 && startsWithMark(block) ? 3 : 0;
  while (start < block.length) {
    const found = block.indexOf(newline, start);
    const end = found < 0 ? block.length : found;
    const problem = parseLine(block, { start, end, offset, line: nextLine, intact, lines });
    if (problem && found < 0 && last) lines.tornTail = true;
    else if (problem) lines.bad.push(problem);
    nextLine += 1;
    start = end + 1;
  }
  return { lines, nextLine };
}

interface Line {
  /** Within the block. */
  start: number;
  end: number;
  offset: number;
  line: number;
  intact: boolean;
  lines: JsonLines;
}

function parseLine(block: Buffer, { start, end, offset, line, intact, lines }: Line): BadLine | undefined {
  let first = start;
  let stop = end;
  while (first < stop && block[first] === 0) first += 1;
  while (stop > first && (block[stop - 1] === 0 || block[stop - 1] === carriageReturn)) stop -= 1;
  const bad = (reason: string): BadLine => ({ line, offset: offset + start, length: end - start, reason });
  if (first > start && first === stop) return bad("the line holds only NUL bytes");
  if (!intact && !isUtf8(block.subarray(first, stop))) return bad("the line is not valid UTF-8");
  const text = block.toString("utf8", first, stop);
  if (/^[ \t\r]*$/.test(text)) return undefined;
  try {
    lines.records.push({ value: JSON.parse(text), line, offset: offset + first, text });
  } catch {
    return bad("the line is not valid JSON");
  }
  // A record behind a block of NUL is sound; that something was lost before it is still said.
  if (first > start)
    lines.bad.push({
      line,
      offset: offset + start,
      length: first - start,
      reason: "NUL bytes stand before the record",
    });
  return undefined;
}

function startsWithMark(block: Buffer): boolean {
  return block[0] === 0xef && block[1] === 0xbb && block[2] === 0xbf;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
