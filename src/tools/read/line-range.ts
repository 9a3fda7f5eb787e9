import { splitLines } from "../shared/page-lines.ts";
import { decodeAs, type Encoding, markLength } from "../shared/text-encoding.ts";

/** The part of a file that was asked for. */
export interface LineRange {
  /** First line, from 1. */
  readonly offset: number;
  readonly limit: number;
}

/** Below what hands let through, so that a page ends where we say it ends. */
export const MAX_CHARACTERS = 28_000;

export function pastEnd(name: string, total: number, offset: number): string {
  return `${name} has ${total} lines; offset ${offset} is past its end.`;
}

export interface FoundLines {
  /** The asked ones; none when the text ends before them. */
  readonly lines: readonly string[];
  readonly total: number;
}

const NEWLINE = 0x0a;

/** Only what was asked for is made text. */
export function linesOf(bytes: Uint8Array, encoding: Encoding, asked: LineRange): FoundLines {
  const start = markLength[encoding];
  if (isWide(encoding)) return choose(splitLines(decodeAs(encoding, bytes.subarray(start))), asked);
  const { from, to, line } = scan(bytes, start, asked);
  const total = bytes.length === start || bytes[bytes.length - 1] === NEWLINE ? line - 1 : line;
  return { lines: decodeLines(bytes.subarray(from, to), encoding), total };
}

/** The same from the first bytes of a text; undefined when they end before the asked lines do. */
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

/** Where the asked lines stand, and which line is the last that begins; looks no further than behind line `last`. */
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

/** A line end takes two bytes. */
function isWide(encoding: Encoding): boolean {
  return encoding === "utf-16le" || encoding === "utf-16be";
}
