import { cutLine, MAX_LINE_CHARACTERS, splitLines } from "../shared/page-lines.ts";
import type { Span } from "./apply-edit.ts";

const MAX_LINES_SHOWN = 20;
/**
 * Maximum length of text in which to look for a similar passage. Searching longer text would keep the process busy
 * for seconds.
 */
const MAX_SEARCHED = 2_000_000;
const NOTHING_SIMILAR = "Nothing similar was found. Read the file again and copy the text from it.";

/** Explains why the text was not found: shows where it occurs with small differences, or the closest text. */
export function explainMismatch(text: string, oldString: string): string {
  if (text.length + oldString.length > MAX_SEARCHED) return NOTHING_SIMILAR;
  const lines = splitLines(text);
  const wanted = withoutBlankEnds(splitLines(oldString));
  if (wanted.length === 0) return "It contains only whitespace. Include a line of text.";
  if (wanted.every((line) => /^\s*\d+\t/.test(line)) && hasNumbersOfRead(lines, wanted))
    return "It contains the line numbers that Read shows. Remove each number and the tab after it.";
  for (const { what, fold } of foldings) {
    const at = findWindow(lines.map(fold), wanted.map(fold));
    if (at < 0) continue;
    const shown = show(lines, at, wanted.length);
    return `A match with different ${differenceIn(lines.slice(at, at + wanted.length), wanted) ?? what} is at line ${at + 1}. Copy the text exactly:\n${shown}`;
  }
  return explainClosest(lines, wanted);
}

const foldings: readonly { readonly what: string; readonly fold: (line: string) => string }[] = [
  { what: "whitespace", fold: (line) => line.trim() },
  { what: "whitespace", fold: (line) => line.replace(/\s+/g, "") },
  { what: "quotes, dashes or spaces", fold: foldTypography },
  { what: "capitalization", fold: (line) => foldTypography(line).toLowerCase() },
];

function foldTypography(line: string): string {
  return line
    .replace(/[\u2018\u2019\u201a\u201b\u2032]/g, "'")
    .replace(/[\u201c\u201d\u201e\u201f\u2033]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/\u2026/g, "...")
    .replace(/[\s\u200b-\u200d\ufeff]+/g, "");
}

function differenceIn(found: readonly string[], wanted: readonly string[]): string | undefined {
  const equal = (fold: (line: string) => string) =>
    found.every((line, index) => fold(line) === fold(wanted[index] ?? ""));
  if (equal((line) => line.trimStart())) return "indentation";
  return equal((line) => line.trimEnd()) ? "trailing spaces" : undefined;
}

function hasNumbersOfRead(lines: readonly string[], wanted: readonly string[]): boolean {
  const bare = wanted.map((line) => line.replace(/^\s*\d+\t/, "").trim());
  return (
    findWindow(
      lines.map((line) => line.trim()),
      bare,
    ) >= 0
  );
}

/** Returns where the wanted lines begin; -1 if they do not occur. Compares each line about twice (Knuth-Morris-Pratt). */
function findWindow(lines: readonly string[], wanted: readonly string[]): number {
  /** For each number of matched lines, the number of them that still match if the next line differs. */
  const kept = [0, 0];
  for (let index = 1; index < wanted.length; index += 1) kept.push(advance(wanted[index]!, kept[index]!));
  let matched = 0;
  for (const [index, line] of lines.entries()) {
    matched = advance(line, matched);
    if (matched === wanted.length) return index - matched + 1;
  }
  return -1;

  function advance(line: string, before: number): number {
    let count = before;
    while (count > 0 && wanted[count] !== line) count = kept[count]!;
    return wanted[count] === line ? count + 1 : 0;
  }
}

/** Maximum number of occurrences of a line. More frequent lines say little about the position. */
const MAX_POSITIONS = 10;

/**
 * Each line that occurs in both the file and the wanted text suggests a position for the whole text. The position with
 * the most suggestions is the closest match.
 */
function explainClosest(lines: readonly string[], wanted: readonly string[]): string {
  const positions = new Map<string, number[]>();
  for (const [index, line] of wanted.entries()) {
    const folded = line.trim();
    const known = positions.get(folded) ?? [];
    if (/\w/.test(folded) && known.length < MAX_POSITIONS) positions.set(folded, [...known, index]);
  }
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    for (const position of positions.get(line.trim()) ?? []) {
      const at = index - position;
      votes.set(at, (votes.get(at) ?? 0) + 1);
    }
  }
  let best = { at: 0, count: 0 };
  for (const [at, count] of votes) if (count > best.count) best = { at, count };
  if (best.count === 0) return NOTHING_SIMILAR;
  const at = Math.max(best.at, 0);
  const different = wanted.findIndex((line, index) => lines[best.at + index]?.trim() !== line.trim());
  return `The closest match first differs at line ${Math.max(best.at + different, 0) + 1}:\n${show(lines, at, wanted.length)}`;
}

function show(lines: readonly string[], at: number, count: number): string {
  const shown = lines.slice(at, at + Math.min(count, MAX_LINES_SHOWN)).map((line, index) => {
    return `${at + index + 1}\t${line.length > MAX_LINE_CHARACTERS ? cutLine(line) : line}`;
  });
  if (count > MAX_LINES_SHOWN) shown.push("…");
  return shown.join("\n");
}

function withoutBlankEnds(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  const last = lines.findLastIndex((line) => line.trim() !== "");
  return first < 0 ? [] : lines.slice(first, last + 1);
}

const CONTEXT_LINES = 2;
const MAX_LINES = 16;

/** Shows a part of the text with a few lines around it, numbered as in Read. Omits the middle of a long part. */
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
