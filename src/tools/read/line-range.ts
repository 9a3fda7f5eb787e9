import { splitLines } from "../shared/page-lines.ts";
import { decodeAs, type Encoding, markLength } from "../shared/text-encoding.ts";

/** Requested lines of a file. */
export interface LineRange {
  /** Number of the first line, starting at 1. */
  readonly offset: number;
  readonly limit: number;
}

/** Maximum size of a page. It is below the executor's limit, so that the executor does not cut the page again. */
export const MAX_CHARACTERS = 28_000;

export function pastEnd(name: string, total: number, offset: number): string {
  return `${name} has ${total} lines; offset ${offset} is past its end. Use a smaller offset.`;
}

export interface FoundLines {
  /** The requested lines; empty if the text ends before the first of them. */
  readonly lines: readonly string[];
  readonly total: number;
}

const NEWLINE = 0x0a;

/** Returns the requested lines of the text. Decodes no other lines, except in UTF-16. */
export function linesOf(bytes: Uint8Array, encoding: Encoding, asked: LineRange): FoundLines {
  const start = markLength[encoding];
  if (isWide(encoding)) return choose(splitLines(decodeAs(encoding, bytes.subarray(start))), asked);
  const { from, to, line } = scan(bytes, start, asked);
  const total = bytes.length === start || bytes[bytes.length - 1] === NEWLINE ? line - 1 : line;
  return { lines: decodeLines(bytes.subarray(from, to), encoding), total };
}

/**
 * Returns the requested lines if the given bytes, which are the beginning of the text, contain all of them; otherwise
 * undefined.
 */
export function linesInPart(
  part: Uint8Array,
  encoding: Encoding,
  { total, ...asked }: LineRange & { readonly total: number },
): FoundLines | undefined {
  const last = Math.min(asked.offset + asked.limit - 1, total);
  if (isWide(encoding) || asked.offset > total) return undefined;
  const wanted = { offset: asked.offset, limit: last - asked.offset + 1, last };
  const { from, to, line } = scan(part, markLength[encoding], wanted);
  return line > last ? { lines: decodeLines(part.subarray(from, to), encoding), total } : undefined;
}

export function choose(lines: readonly string[], { offset, limit }: LineRange): FoundLines {
  return { lines: lines.slice(offset - 1, offset - 1 + limit), total: lines.length };
}

/** Finds the position of the requested lines, and the number of the last line. Stops after line `last`. */
function scan(
  bytes: Uint8Array,
  start: number,
  { offset, limit, last = Number.POSITIVE_INFINITY }: LineRange & { readonly last?: number },
): { readonly from: number; readonly to: number; readonly line: number } {
  let line = 1;
  let from = offset === 1 ? start : bytes.length;
  let to = bytes.length;
  for (let at = bytes.indexOf(NEWLINE, start); at >= 0 && line <= last; at = bytes.indexOf(NEWLINE, at + 1)) {
    line += 1;
    if (line === offset) from = at + 1;
    if (line === offset + limit) to = at + 1;
  }
  return { from, to, line };
}

function decodeLines(bytes: Uint8Array, encoding: Encoding): readonly string[] {
  return bytes.length === 0 ? [] : splitLines(decodeAs(encoding, bytes));
}

/** Returns true if a line break takes two bytes. */
function isWide(encoding: Encoding): boolean {
  return encoding === "utf-16le" || encoding === "utf-16be";
}
