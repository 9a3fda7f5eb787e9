import { cutLine, MAX_LINE_CHARACTERS } from "../shared/page-lines.ts";
import type { Span } from "./apply-edit.ts";

const CONTEXT_LINES = 2;
const MAX_LINES = 16;

/** The lines of a place in a text with a few around it, numbered as Read does; the middle of many is left out. */
export function showPlace(text: string, { start, end }: Span): string {
  const from = lineStart(text, start, CONTEXT_LINES);
  const to = lineEnd(text, end, CONTEXT_LINES);
  const first = countNewlines(text, from) + 1;
  const rows = text
    .slice(from, to)
    .split("\n")
    .map((line, index) => `${first + index}\t${shortened(line)}`);
  if (rows.length <= MAX_LINES) return rows.join("\n");
  const half = MAX_LINES / 2;
  return [...rows.slice(0, half), "…", ...rows.slice(-half)].join("\n");
}

function lineStart(text: string, offset: number, linesBefore: number): number {
  let at = offset;
  for (let left = linesBefore; left >= 0 && at >= 0; left--) at = at === 0 ? -1 : text.lastIndexOf("\n", at - 1);
  return at + 1;
}

function lineEnd(text: string, offset: number, linesAfter: number): number {
  let at = text.indexOf("\n", offset);
  for (let left = linesAfter; left > 0 && at >= 0; left--) at = text.indexOf("\n", at + 1);
  return at < 0 ? text.replace(/\r?\n$/, "").length : at;
}

function countNewlines(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < end; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

function shortened(line: string): string {
  const bare = line.endsWith("\r") ? line.slice(0, -1) : line;
  return bare.length > MAX_LINE_CHARACTERS ? cutLine(bare) : bare;
}
