import type { Paint, Row } from "./row.ts";
import { cutRow, widthOfRow } from "./text.ts";

/** What is shown at the end of the terminal's text, or on the whole screen. It must be lower than the terminal. */
export interface Frame {
  readonly rows: readonly Row[];
  /** Where the user types; hidden if absent. */
  readonly cursor?: Position | undefined;
}

export interface Position {
  readonly row: number;
  readonly column: number;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The part of a terminal's output that is used here. */
export interface ScreenOutput {
  readonly columns?: number;
  readonly rows?: number;
  readonly writableNeedDrain?: boolean;
  write(text: string): unknown;
}

/**
 * Writes to a terminal. Rows that are printed scroll like the output of any program and are never touched again. Below
 * them is a frame, of which only the rows that changed are written.
 */
export interface Screen {
  readonly size: Size;
  /** Adds rows above the frame. They are written together with the next frame. */
  print(rows: readonly Row[]): void;
  /** Shows a frame below everything that was printed. */
  draw(frame: Frame): void;
  /** Shows a frame on the whole screen, until the next call of `draw`. What is printed meanwhile waits. */
  drawFull(frame: Frame): void;
  /** Called when the size of the terminal has changed. Removes the frame, which the terminal may have rewrapped. */
  resized(): void;
  /** Draws the next frame as a whole, because another program may have written to the terminal. */
  forget(): void;
  /** Removes the frame, writes what was printed and shows the cursor again. */
  close(): void;
}

export interface ScreenOptions {
  readonly output: ScreenOutput;
  readonly paint: Paint;
  /** Whether the terminal breaks its rows again when it becomes narrower. Most do. */
  readonly reflows: boolean;
}

const SYNC_START = "\u001b[?2026h";
const SYNC_END = "\u001b[?2026l";
const HIDE = "\u001b[?25l";
const SHOW = "\u001b[?25h";
const CLEAR_ROW = "\r\u001b[2K";
const SAVE = "\u001b7";
const RESTORE = "\u001b8";
const FULL_START = "\u001b[?1049h";
const FULL_END = "\u001b[?1049l";

interface Drawn {
  readonly texts: readonly string[];
  readonly widths: readonly number[];
  readonly cursor: Position;
  readonly isCursorShown: boolean;
}

const nothing: Drawn = { texts: [], widths: [], cursor: { row: 0, column: 0 }, isCursorShown: true };

export function createScreen({ output, paint, reflows }: ScreenOptions): Screen {
  let printed: Row[] = [];
  let drawn = nothing;
  let full: Drawn | undefined;

  const size = (): Size => ({ columns: output.columns || 80, rows: output.rows || 24 });

  const asDrawn = ({ rows, cursor }: Frame): Drawn => {
    // The last column stays empty, because terminals disagree about the cursor after a character there.
    const room = Math.max(1, size().columns - 1);
    const kept = rows.map((row) => cutRow(row, room));
    const last = { row: Math.max(0, kept.length - 1), column: 0 };
    return {
      texts: kept.map(paint),
      widths: kept.map(widthOfRow),
      cursor: cursor === undefined ? last : { row: cursor.row, column: Math.min(cursor.column, room) },
      isCursorShown: cursor !== undefined,
    };
  };

  /** Returns the sequence that removes the frame and leaves the cursor where it began. */
  const removed = (): string => `${up(drawn.cursor.row)}${clearRows(drawn.texts.length)}`;

  const whole = (next: Drawn): string => {
    const lines = printed.map((row) => `${paint(row)}\r\n`).join("");
    printed = [];
    return `${removed()}${lines}${next.texts.join("\r\n")}${moved({ row: Math.max(0, next.texts.length - 1), column: 0 }, next.cursor)}`;
  };

  const write = (next: Drawn, change: string): void => {
    const cursor = next.isCursorShown ? SHOW : "";
    output.write(`${SYNC_START}${HIDE}${change}${cursor}${SYNC_END}`);
  };

  const leaveFull = (): void => {
    if (full === undefined) return;
    full = undefined;
    output.write(FULL_END);
  };

  return {
    get size() {
      return size();
    },
    print: (rows) => {
      for (const row of rows) printed.push(row);
    },
    draw: (frame) => {
      leaveFull();
      const next = asDrawn(frame);
      const change = printed.length > 0 || drawn.texts.length === 0 ? whole(next) : difference(drawn, next);
      if (change !== "" || next.isCursorShown !== drawn.isCursorShown) write(next, change);
      drawn = next;
    },
    drawFull: (frame) => {
      if (full === undefined) output.write(FULL_START);
      const next = asDrawn(frame);
      const change = fullDifference(full ?? nothing, next);
      if (change !== "") write(next, change);
      full = next;
    },
    resized: () => {
      const { columns } = size();
      const heights = drawn.widths.map((width) => (reflows ? Math.max(1, Math.ceil(width / columns)) : 1));
      const above = sum(heights.slice(0, drawn.cursor.row)) + (reflows ? Math.floor(drawn.cursor.column / columns) : 0);
      if (full === undefined && drawn.texts.length > 0) output.write(`${up(above)}${clearRows(sum(heights))}`);
      if (full === undefined) drawn = nothing;
      else full = nothing;
    },
    forget: () => {
      drawn = nothing;
    },
    close: () => {
      leaveFull();
      const lines = printed.map((row) => `${paint(row)}\r\n`).join("");
      output.write(`${removed()}${lines}${SHOW}`);
      printed = [];
      drawn = nothing;
    },
  };
}

/** Returns what changes one frame into another: only rows that differ are written. */
function difference(before: Drawn, next: Drawn): string {
  let at: Position = before.cursor;
  let change = "";
  const last = before.texts.length - 1;
  for (const [row, text] of next.texts.entries()) {
    if (row <= last && text === before.texts[row]) continue;
    if (row <= last) change += `${vertical(at.row, row)}${CLEAR_ROW}${text}`;
    // Only a line break creates a row at the bottom of the screen.
    else change += `${vertical(at.row, row - 1)}\r\n${text}`;
    at = { row, column: next.widths[row] ?? 0 };
  }
  if (next.texts.length < before.texts.length) {
    const firstGone = next.texts.length;
    change += `${vertical(at.row, firstGone)}${clearRows(before.texts.length - firstGone)}`;
    at = { row: firstGone, column: 0 };
  }
  const isMoved = change !== "" || at.row !== next.cursor.row || at.column !== next.cursor.column;
  return isMoved ? `${change}${moved(at, next.cursor)}` : change;
}

function fullDifference(before: Drawn, next: Drawn): string {
  let change = "";
  for (const [row, text] of next.texts.entries()) {
    if (text !== before.texts[row]) change += `\u001b[${row + 1};1H\u001b[2K${text}`;
  }
  if (before.texts.length !== next.texts.length) change += `\u001b[${next.texts.length + 1};1H\u001b[J`;
  const { row, column } = next.cursor;
  const isMoved = row !== before.cursor.row || column !== before.cursor.column;
  return change !== "" || isMoved ? `${change}\u001b[${row + 1};${column + 1}H` : "";
}

/**
 * Clears rows from the cursor down, and returns to the first. Clearing the rest of the screen at once would be shorter,
 * but some terminals then keep a copy of it in their history. The cursor is saved, because it stops at the end of a
 * screen that has become lower.
 */
function clearRows(count: number): string {
  if (count === 0) return "\r";
  return `\r${SAVE}${CLEAR_ROW}${`\u001b[1B${CLEAR_ROW}`.repeat(count - 1)}${RESTORE}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((left, right) => left + right, 0);
}

function moved(from: Position, to: Position): string {
  return `${vertical(from.row, to.row)}\r${to.column > 0 ? `\u001b[${to.column}C` : ""}`;
}

function vertical(from: number, to: number): string {
  return to < from ? up(from - to) : to > from ? `\u001b[${to - from}B` : "";
}

function up(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : "";
}
