import type { Paint, Row } from "./row.ts";
import { cutRow, splitRow, widthOfRow } from "./text.ts";

/**
 * Content that is shown at the end of the terminal's text, or on the whole screen. It must be shorter than the
 * terminal.
 */
export interface Frame {
  readonly rows: readonly Row[];
  /** Position of the cursor, which is hidden if absent. */
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
  /** Returns the terminal's current number of columns and rows. */
  getWindowSize(): [number, number];
  readonly writableNeedDrain?: boolean;
  write(text: string): unknown;
}

/**
 * Writes to a terminal. Printed rows scroll like the output of any program and are never changed again. Below them is a
 * frame, in which only the changed rows are rewritten.
 */
export interface Screen {
  readonly size: Size;
  /** False while the user is resizing the terminal. Frames are then less than 40 columns wide. */
  readonly isSettled: boolean;
  /** Adds rows above the frame. They are written together with the next frame. */
  print(rows: readonly Row[]): void;
  /** Shows a frame below everything that was printed. */
  draw(frame: Frame): void;
  /** Shows a frame on the whole screen, until the next call to `draw`. Anything printed until then is held back. */
  drawFull(frame: Frame): void;
  /**
   * Reads the size that the system reports. Returns true if it has changed. Called before each frame, because the signal
   * that reports a change may come later than bytes for the old size. From then on until `settled` is called, the user
   * is resizing the terminal: its actual size may differ from the reported one, so frames are narrow, and `locate` must
   * be called before each of them.
   */
  measure(): boolean;
  /**
   * Returns true if a frame can be drawn now. Otherwise, asks the terminal for its size and the cursor's position; the
   * frame can be drawn when `located` returns true.
   */
  locate(): boolean;
  /**
   * Receives a position that the terminal reports, or undefined if it does not answer. `unsure`: the answer is complete
   * but differs from the previous one, so the terminal must be asked again after a while. `located`: the frame, which
   * the terminal may have moved and rewrapped, was removed, and a new one can be drawn.
   */
  located(position: Position | undefined): "incomplete" | "unsure" | "located";
  settled(): void;
  /** Redraws the whole next frame, because another program may have written to the terminal. */
  forget(): void;
  /** Removes the frame, writes the printed rows and shows the cursor again. */
  close(): void;
}

export interface ScreenOptions {
  readonly output: ScreenOutput;
  readonly paint: Paint;
  /** Whether the terminal rewraps its rows when it becomes narrower. Most do. */
  readonly reflows: boolean;
}

const SYNC_START = "\u001b[?2026h";
const SYNC_END = "\u001b[?2026l";
const HIDE = "\u001b[?25l";
const SHOW = "\u001b[?25h";
const CLEAR_ROW = "\r\u001b[2K";
/** Text that does not fit is cut instead of continued in the next row. */
const WRAP_OFF = "\u001b[?7l";
const WRAP_ON = "\u001b[?7h";
const SAVE = "\u001b7";
const RESTORE = "\u001b8";
/** Asks for the position of the cursor, and then for that of the last cell, which gives the size of the screen. */
const ASK = `\u001b[6n${SAVE}\u001b[9999;9999H\u001b[6n${RESTORE}`;
const FULL_START = "\u001b[?1049h";
const FULL_END = "\u001b[?1049l";

interface Drawn {
  readonly texts: readonly string[];
  readonly widths: readonly number[];
  readonly cursor: Position;
  /** Text of the cursor's row before and after the cursor. */
  readonly split: readonly [string, string];
  readonly isCursorShown: boolean;
}

const nothing: Drawn = {
  texts: [],
  widths: [],
  cursor: { row: 0, column: 0 },
  split: ["", ""],
  isCursorShown: true,
};

/** In practice, rows that are narrower than this fit on one line of any terminal. */
const NARROW = 40;

export function createScreen({ output, paint, reflows }: ScreenOptions): Screen {
  let printed: Row[] = [];
  let drawn = nothing;
  let full: Drawn | undefined;
  let size = measured();
  /** Size that the system has reported last. */
  let reported = size;
  let isSettled = true;
  /** Position of the cursor, if the terminal has reported it but not its size yet. */
  let cursor: Position | undefined;
  let isAsked = false;
  /** Whether the size has changed since the frame was drawn or removed. */
  let isMoved = false;
  /** The terminal's last answer. A frame is drawn only where the terminal has said twice that it is. */
  let answer = "";
  /** Whether the terminal did not answer. It is not asked again. */
  let isMute = false;
  /**
   * Widths of the frame's rows that left the top of the screen when the screen became too short. They come back above
   * the frame when the screen becomes taller, unless something was printed below them since.
   */
  let gone: readonly number[] = [];

  const asDrawn = ({ rows, cursor }: Frame): Drawn => {
    // The last column stays empty, because terminals disagree about the cursor after a character there.
    const room = Math.max(1, Math.min(size.columns, isSettled ? size.columns : NARROW) - 1);
    const kept = rows.map((row) => cutRow(row, room));
    const row = Math.min(cursor?.row ?? kept.length, Math.max(0, kept.length - 1));
    const column = Math.min(cursor?.column ?? 0, room);
    const [before, after] = splitRow(kept[row] ?? [], column);
    return {
      texts: kept.map(paint),
      widths: kept.map(widthOfRow),
      cursor: { row, column },
      // If the cursor is past the end of the row, the gap is filled with spaces.
      split: [`${paint(before)}${" ".repeat(Math.max(0, column - widthOfRow(before)))}`, paint(after)],
      isCursorShown: cursor !== undefined,
    };
  };

  /** Returns the sequence that removes the frame and leaves the cursor where the frame began. */
  const removed = (): string => `${up(drawn.cursor.row)}${clearRows(drawn.texts.length)}`;

  /**
   * Writes everything again. Rows above the cursor are continued in the next row if they do not fit, just as the terminal
   * does with old rows when it becomes narrower. So `measure` knows how tall they are, even if the terminal became
   * narrower before these bytes reached it.
   */
  const whole = ({ texts, cursor, split: [before, after] }: Drawn): string => {
    const lines = printed.map((row) => `${paint(row)}\r\n`).join("");
    if (printed.length > 0) gone = [];
    printed = [];
    const last = Math.max(0, texts.length - 1);
    // Only line breaks create rows at the bottom of the screen. Afterwards nothing scrolls.
    const room = `${"\n".repeat(last)}${up(last)}`;
    const above = texts.slice(0, cursor.row).map((text) => `${text}\r\n`);
    const below = texts.slice(cursor.row + 1).map((text) => `\u001b[1B${CLEAR_ROW}${text}`);
    return `${removed()}${lines}${room}${above.join("")}${before}${apart(`${after}${below.join("")}`)}`;
  };

  /**
   * After the terminal's size has changed, removes the frame, including rows that have come back to the screen. `row`:
   * the cursor's row, which is the number of rows above it on the screen. If it is unknown, it is derived from the
   * reported sizes; that is wrong if the terminal had other sizes in between.
   */
  const removeRewrapped = (row: number | undefined, grown = 0): void => {
    const heightOf = (width: number): number => (reflows ? Math.max(1, Math.ceil(width / size.columns)) : 1);
    const heights = drawn.widths.map(heightOf);
    const cursorRow = reflows ? Math.floor(drawn.cursor.column / size.columns) : 0;
    const above = sum(heights.slice(0, drawn.cursor.row)) + cursorRow;
    const onScreen = row ?? Math.min(above, size.rows - 1) + grown;
    let back = Math.max(0, Math.min(onScreen - above, sum(gone.map(heightOf))));
    // Everything below is cleared too: GNU screen can leave rows of the frame there.
    if (drawn.texts.length > 0) output.write(`${up(above + back)}${clearRows(size.rows)}`);
    while (back > 0) {
      back -= heightOf(gone.at(-1) ?? 0);
      gone = gone.slice(0, -1);
    }
    let left = above - onScreen;
    for (const [index, height] of heights.entries()) {
      if (left <= 0) break;
      gone = [...gone, Math.min(drawn.widths[index] ?? 0, left * size.columns)];
      left -= height;
    }
    drawn = nothing;
  };

  function measured(): Size {
    const [columns, rows] = output.getWindowSize();
    return { columns: columns || 80, rows: rows || 24 };
  }

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
      return size;
    },
    get isSettled() {
      return isSettled;
    },
    print: (rows) => {
      for (const row of rows) printed.push(row);
    },
    draw: (frame) => {
      leaveFull();
      const next = asDrawn(frame);
      const change = printed.length === 0 && canPatch(drawn, next) ? patch(drawn, next) : whole(next);
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
    measure: () => {
      const { columns, rows } = measured();
      if (columns === reported.columns && rows === reported.rows) return false;
      const grown = Math.max(0, rows - reported.rows);
      reported = { columns, rows };
      isSettled = false;
      isMoved = !isMute;
      if (isMute || full !== undefined) size = reported;
      if (full !== undefined) full = nothing;
      else if (isMute) removeRewrapped(undefined, grown);
      return true;
    },
    locate: () => {
      if ((isSettled && !isMoved) || isMute || full !== undefined) return true;
      if (!isAsked) output.write(ASK);
      isAsked = true;
      return false;
    },
    located: (position) => {
      if (!isAsked) return "incomplete";
      if (position !== undefined && cursor === undefined) {
        cursor = position;
        return "incomplete";
      }
      const row = cursor?.row;
      const before = answer;
      answer = JSON.stringify([cursor, position]);
      if (position !== undefined && answer !== before) {
        isAsked = false;
        cursor = undefined;
        return "unsure";
      }
      answer = "";
      isMute = position === undefined;
      const grown = Math.max(0, reported.rows - size.rows);
      size = position === undefined ? reported : { columns: position.column + 1, rows: position.row + 1 };
      isAsked = false;
      isMoved = false;
      cursor = undefined;
      if (full === undefined) removeRewrapped(isMute ? undefined : row, grown);
      return "located";
    },
    settled: () => {
      isSettled = true;
      size = reported;
    },
    forget: () => {
      drawn = nothing;
      gone = [];
    },
    close: () => {
      leaveFull();
      const lines = printed.map((row) => `${paint(row)}\r\n`).join("");
      output.write(`${removed()}${lines}${SHOW}`);
      printed = [];
      drawn = nothing;
      gone = [];
    },
  };
}

/** Returns whether all changed rows have a known height or are below the cursor. */
function canPatch(before: Drawn, next: Drawn): boolean {
  const { row, column } = next.cursor;
  if (before.texts.length === 0 || before.texts.length !== next.texts.length || before.cursor.row !== row) return false;
  const isNarrow = (index: number): boolean => Math.max(before.widths[index] ?? 0, next.widths[index] ?? 0) < NARROW;
  if (before.cursor.column !== column && !isNarrow(row)) return false;
  return next.texts.slice(0, row + 1).every((text, index) => text === before.texts[index] || isNarrow(index));
}

/** Returns the output that changes one frame into another. Only rows that differ are written. */
function patch(before: Drawn, next: Drawn): string {
  const { row, column } = next.cursor;
  let at = row;
  let change = "";
  for (const [index, text] of next.texts.entries()) {
    if (text === before.texts[index]) continue;
    change += `${vertical(at, index)}${CLEAR_ROW}${text}`;
    at = index;
  }
  const isMoved = before.cursor.column !== column;
  return `${change === "" ? "" : apart(change)}${isMoved ? `\r${column > 0 ? `\u001b[${column}C` : ""}` : ""}`;
}

/**
 * Makes a change that does not scroll, and returns the cursor to its position. Counting rows back would lead to the
 * wrong row if the terminal has become smaller and the program does not know yet.
 */
function apart(change: string): string {
  return `${SAVE}${WRAP_OFF}${change}${WRAP_ON}${RESTORE}`;
}

function fullDifference(before: Drawn, next: Drawn): string {
  // The rows below are cleared first: if the new rows fill the screen, there is no row below, and the last row is
  // cleared instead.
  let change = before.texts.length === next.texts.length ? "" : `\u001b[${next.texts.length + 1};1H\u001b[J`;
  for (const [row, text] of next.texts.entries()) {
    if (text !== before.texts[row]) change += `\u001b[${row + 1};1H\u001b[2K${text}`;
  }
  const { row, column } = next.cursor;
  const isMoved = row !== before.cursor.row || column !== before.cursor.column;
  return change !== "" || isMoved ? `${change}\u001b[${row + 1};${column + 1}H` : "";
}

/**
 * Clears rows from the cursor down, and returns to the first. Clearing the rest of the screen at once would be shorter,
 * but some terminals then keep a copy of it in their history. The cursor is saved instead of counting
 * rows back, because it stops at the bottom of a screen that has become shorter.
 */
function clearRows(count: number): string {
  if (count === 0) return "\r";
  return `\r${SAVE}${CLEAR_ROW}${`\u001b[1B${CLEAR_ROW}`.repeat(count - 1)}${RESTORE}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((left, right) => left + right, 0);
}

function vertical(from: number, to: number): string {
  return to < from ? up(from - to) : to > from ? `\u001b[${to - from}B` : "";
}

function up(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : "";
}
