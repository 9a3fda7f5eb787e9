import stringWidth from "string-width";
import { stripControls } from "../../lib/index.ts";
import { graphemes } from "./graphemes.ts";
import type { Row, Span } from "./row.ts";

const plain = /^[ -~]*$/;

/** Returns the number of terminal columns that the text takes up. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemes(text)) width += widthOfGrapheme(grapheme);
  return width;
}

/** Widths of short graphemes, because computing one takes microseconds. */
const widths = new Map<string, number>();
const MAX_WIDTHS = 20_000;
const MAX_KNOWN_LENGTH = 16;

function widthOfGrapheme(grapheme: string): number {
  const known = widths.get(grapheme);
  if (known !== undefined) return known;
  const width = stringWidth(grapheme);
  if (widths.size >= MAX_WIDTHS) widths.clear();
  if (grapheme.length <= MAX_KNOWN_LENGTH) widths.set(grapheme, width);
  return width;
}

export function widthOfRow(row: Row): number {
  return row.reduce((width, { text }) => width + widthOf(text), 0);
}

/** Makes untrusted text safe to show on one line. */
export function cleanLine(text: string): string {
  return stripControls(text)
    .replace(/\t/g, "  ")
    .replace(/[\r\n]+/g, " ");
}

/** Maximum number of characters of a text in a list. */
const MAX_PREVIEW = 1_000;

/** Makes the beginning of untrusted text safe to show on one line. */
export function preview(text: string): string {
  const start = text.trimStart().slice(0, MAX_PREVIEW + 1);
  return cleanLine(start.length > MAX_PREVIEW ? `${start.slice(0, MAX_PREVIEW)}…` : start);
}

/** Makes untrusted text safe, and splits it into lines. */
export function cleanLines(text: string): readonly string[] {
  const lines = stripControls(text.replace(/\r\n?/g, "\n")).split(/[\n\u2028\u2029]/);
  return lines.map((line) => line.replace(/\t/g, "  "));
}

/** Cuts text to a number of columns. Text that is too long ends with `…`. */
export function cut(text: string, columns: number): string {
  if (fits(text, columns)) return text;
  if (columns <= 0) return "";
  return `${startOf(text, columns - 1)}…`;
}

/** Returns whether the text takes up at most a number of columns, without measuring much more than that. */
function fits(text: string, columns: number): boolean {
  return startOf(text, columns).length === text.length;
}

/** Shortens text that ends with a path, but keeps the file name: `src/…/price.ts`. */
export function cutPath(text: string, columns: number): string {
  if (fits(text, columns)) return text;
  const name = text.slice(text.lastIndexOf("/"));
  const room = columns - 1 - widthOf(name);
  if (!text.includes("/") || room < 0) return cut(text.includes("/") ? name.slice(1) : text, columns);
  const start = startOf(text, room);
  // Keep whole directory names, if there is room for any.
  const isDirectory = start.includes("/", start.lastIndexOf(" ") + 1);
  return `${isDirectory ? start.slice(0, start.lastIndexOf("/") + 1) : start}…${name}`;
}

/** Returns as much of the start of the text as fits. */
function startOf(text: string, columns: number): string {
  // The character after the part may combine with its last one.
  const start = text.slice(0, Math.max(0, columns) + 1);
  if (plain.test(start)) return start.slice(0, Math.max(0, columns));
  let width = 0;
  let length = 0;
  for (const grapheme of graphemes(text)) {
    width += widthOfGrapheme(grapheme);
    if (width > columns) break;
    length += grapheme.length;
  }
  return text.slice(0, length);
}

export function cutRow(row: Row, columns: number): Row {
  if (rowFits(row, columns)) return row;
  let left = columns;
  const kept: Span[] = [];
  for (const each of row) {
    // A span that leaves no room for `…` is cut too.
    if (!fits(each.text, left - 1))
      return [...kept, { ...each, text: each.isPath ? cutPath(each.text, left) : cut(`${each.text}…`, left) }];
    kept.push(each);
    left -= widthOf(each.text);
  }
  return kept;
}

/** Returns whether a row takes up at most a number of columns, without measuring much more than that. */
export function rowFits(row: Row, columns: number): boolean {
  let left = columns;
  return row.every(({ text }) => {
    const isFitting = fits(text, left);
    if (isFitting) left -= widthOf(text);
    return isFitting;
  });
}

/** Splits a row at a column. A character that is two columns wide stays whole. */
export function splitRow(row: Row, column: number): readonly [Row, Row] {
  let left = column;
  const before: Span[] = [];
  for (const [index, each] of row.entries()) {
    const text = startOf(each.text, left);
    if (text.length < each.text.length) {
      const after = [{ ...each, text: each.text.slice(text.length) }, ...row.slice(index + 1)];
      return [[...before, { ...each, text }], after];
    }
    before.push(each);
    left -= widthOf(text);
  }
  return [before, []];
}

/** Appends spaces up to a number of columns. Text that is too long is cut. */
export function pad(text: string, columns: number): string {
  return `${cut(text, columns)}${" ".repeat(Math.max(0, columns - widthOf(text)))}`;
}

/**
 * Puts one part of a row at its left edge and the other at its right edge. The left one is cut if necessary, and the
 * right one is left out if there is no room for both.
 */
export function spread(left: Row, right: Row, columns: number): Row {
  const rightWidth = widthOfRow(right);
  if (rightWidth === 0 || columns - rightWidth < MIN_LEFT) return cutRow(left, columns);
  const kept = cutRow(left, Math.max(0, columns - rightWidth - 2));
  return [...kept, { text: " ".repeat(Math.max(2, columns - rightWidth - widthOfRow(kept))) }, ...right];
}

/** Cuts a row so that another part, which must always be shown, fits after it. */
export function cutBefore(row: Row, tail: Row, columns: number): Row {
  return [...cutRow(row, Math.max(1, columns - widthOfRow(tail))), ...tail];
}

/** Minimum number of columns for the left part of a row. */
const MIN_LEFT = 16;

export interface Wrapping {
  readonly columns: number;
  /** Spans that precede the first line and all other lines. They must have the same width. */
  readonly first?: Row | undefined;
  readonly others?: Row | undefined;
}

/** Wraps a row between words. A word that is longer than a row is split. */
export function wrap(row: Row, { columns, first = [], others = first.map(blank) }: Wrapping): readonly Row[] {
  const room = Math.max(1, columns - widthOfRow(first));
  if (rowFits(row, room)) return [[...first, ...trimmed(row.map(({ text, style }) => ({ text, style })))]];
  const rows: Span[][] = [];
  let line: Span[] = [];
  let width = 0;
  const end = (): void => {
    rows.push(trimmed(line));
    line = [];
    width = 0;
  };
  const add = ({ text, style }: Span, ownWidth: number): void => {
    const last = line.at(-1);
    if (last !== undefined && last.style === style) line[line.length - 1] = { text: last.text + text, style };
    else line.push({ text, style });
    width += ownWidth;
  };
  for (const word of words(row)) {
    const widths = word.map(({ text }) => widthOf(text));
    const wordWidth = widths.reduce((sum, each) => sum + each, 0);
    if (width > 0 && width + wordWidth > room && !isBlank(word)) end();
    for (const [index, each] of word.entries()) {
      const ownWidth = widths[index] ?? 0;
      if (width + ownWidth <= room) {
        if (width > 0 || rows.length === 0 || each.text.trim() !== "") add(each, ownWidth);
        continue;
      }
      if (each.text.trim() === "") continue;
      for (let rest = each.text; rest !== ""; ) {
        const part = startOf(rest, room - width);
        if (part === "" && width > 0) end();
        else {
          // A character that is wider than a row gets its own row.
          const text = part || (graphemes(rest).next().value ?? rest);
          add({ text, style: each.style }, widthOf(text));
          rest = rest.slice(text.length);
        }
      }
    }
  }
  if (line.length > 0 || rows.length === 0) end();
  return rows.map((each, index) => [...(index === 0 ? first : others), ...each]);
}

/** Splits a row into words, which may consist of several spans, and the spaces between them. */
function words(row: Row): readonly Row[] {
  const found: Span[][] = [];
  let isOpen = false;
  for (const { text, style } of row) {
    for (const part of text.match(/ +|[^ ]+/g) ?? []) {
      const isWord = part.trim() !== "";
      if (isWord && isOpen) found.at(-1)?.push({ text: part, style });
      else found.push([{ text: part, style }]);
      isOpen = isWord;
    }
  }
  return found;
}

function isBlank(row: Row): boolean {
  return row.every(({ text }) => text.trim() === "");
}

function trimmed(line: readonly Span[]): Span[] {
  const last = line.at(-1);
  return last === undefined ? [] : [...line.slice(0, -1), { ...last, text: last.text.trimEnd() }];
}

function blank({ text }: Span): Span {
  return { text: " ".repeat(widthOf(text)) };
}
