import { splitLines } from "../shared/page-lines.ts";
import { decodeAs, type Encoding, markLength } from "../shared/text-encoding.ts";
import type { AskedLines } from "./asked-lines.ts";

export interface FoundLines {
  /** The asked ones; none when the text ends before them. */
  readonly lines: readonly string[];
  readonly total: number;
}

const NEWLINE = 0x0a;

/** Only what was asked for is made text, and with a known `total` nothing behind it is looked at. */
export function linesOf(bytes: Uint8Array, encoding: Encoding, asked: AskedLines & { total?: number }): FoundLines {
  const start = markLength[encoding];
  if (encoding === "utf-16le" || encoding === "utf-16be") {
    return choose(splitLines(decodeAs(encoding, bytes.subarray(start))), asked);
  }
  const { offset, limit } = asked;
  let line = 1;
  let from = offset === 1 ? start : bytes.length;
  let to = bytes.length;
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] !== NEWLINE) continue;
    line += 1;
    if (line === offset) from = at + 1;
    if (line !== offset + limit) continue;
    to = at + 1;
    if (asked.total !== undefined) break;
  }
  const isLastEmpty = bytes.length === start || bytes[bytes.length - 1] === NEWLINE;
  const total = asked.total ?? (isLastEmpty ? line - 1 : line);
  return { lines: from < to ? splitLines(decodeAs(encoding, bytes.subarray(from, to))) : [], total };
}

export function choose(lines: readonly string[], { offset, limit }: AskedLines): FoundLines {
  return { lines: lines.slice(offset - 1, offset - 1 + limit), total: lines.length };
}
