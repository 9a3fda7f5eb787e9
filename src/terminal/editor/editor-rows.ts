import { graphemes } from "../screen/graphemes.ts";
import type { Position } from "../screen/screen.ts";
import { widthOf } from "../screen/text.ts";
import { type Editor, shownCharacter } from "./editor.ts";

/** The rows around an editor's cursor. */
export interface EditorRows {
  readonly rows: readonly string[];
  readonly cursor: Position;
  /** For each row, the index in the text at which each of its characters begins, and the index after the last one. */
  readonly indexes: readonly (readonly Cell[])[];
  /** Whether the text has rows before or after these. */
  readonly hasEarlier: boolean;
  readonly hasLater: boolean;
}

interface Cell {
  readonly index: number;
  readonly column: number;
}

export interface RowsWanted {
  readonly columns: number;
  /** Number of rows above and below the cursor's row, if the text has so many. */
  readonly above: number;
  readonly below: number;
}

/**
 * Wraps an editor's text to a width, between words. A word that is longer than a row is split. A space that does not
 * fit at the end of its row is left out. Only the text near the wanted rows is measured, so that the time does not
 * depend on the length of the text.
 */
export function editorRows(editor: Editor, { columns, above, below }: RowsWanted): EditorRows {
  const { text, cursor } = editor;
  const own = partAt(text, cursor);
  let rows = rowsOf(editor, own, columns);
  let row = Math.max(
    0,
    rows.findLastIndex(([first]) => first !== undefined && first.index <= cursor),
  );
  let { from } = own;
  while (row < above && from > 0) {
    const part = partAt(text, from - 1);
    const before = rowsOf(editor, part, columns);
    rows = [...before, ...rows];
    row += before.length;
    from = part.from;
  }
  let end = own;
  while (rows.length - row - 1 < below && !end.isLast) {
    end = partAt(text, end.to);
    rows = [...rows, ...rowsOf(editor, end, columns)];
  }
  const first = Math.max(0, row - above);
  const shown = rows.slice(first, row + below + 1);
  const indexes = shown.map(cellsOf);
  return {
    rows: shown.map((each) => each.map((character) => character.shown).join("")),
    cursor: { row: row - first, column: indexes[row - first]?.find(({ index }) => index === cursor)?.column ?? 0 },
    indexes,
    hasEarlier: from > 0 || first > 0,
    hasLater: !end.isLast || first + shown.length < rows.length,
  };
}

/** Moves the cursor up or down by a row, to the nearest column. Returns undefined if there is no such row. */
export function moveVertically(editor: Editor, by: -1 | 1, columns: number): Editor | undefined {
  const { cursor, indexes } = editorRows(editor, { columns, above: 1, below: 1 });
  const cells = indexes[cursor.row + by];
  if (cells === undefined) return undefined;
  const target = cells.findLast(({ column }) => column <= cursor.column) ?? cells[0];
  return { ...editor, cursor: target?.index ?? editor.cursor };
}

/** A line with its line break, or a part of a long line. It is wrapped by itself. */
interface Part {
  readonly from: number;
  readonly to: number;
  /** Whether the text ends here. */
  readonly isLast: boolean;
}

/** Size of the parts of a long line in UTF-16 units. */
const PART = 2_048;
/** Number of UTF-16 units in which the end of a part is searched for, so that it depends only on the text near it. */
const NEAR_END = 256;

/** Returns the part that contains an index. */
function partAt(text: string, index: number): Part {
  const from = index === 0 ? 0 : text.lastIndexOf("\n", index - 1) + 1;
  const lineBreak = text.indexOf("\n", index);
  const to = lineBreak < 0 ? text.length : lineBreak + 1;
  const startOf = (part: number): number => {
    const limit = from + part * PART;
    return part === 0 ? from : limit >= to ? to : partEnd(text, limit);
  };
  const near = Math.floor((index - from) / PART);
  const part = startOf(near + 1) <= index && startOf(near + 1) < to ? near + 1 : near;
  const end = startOf(part + 1);
  return { from: startOf(part), to: end, isLast: end === text.length && lineBreak < 0 };
}

/** Returns where a part of a long line ends: after the last word or character before the limit. */
function partEnd(text: string, limit: number): number {
  let end = limit - NEAR_END;
  let afterWord: number | undefined;
  for (const grapheme of graphemes(text.slice(end, limit + NEAR_END))) {
    if (end + grapheme.length > limit) break;
    end += grapheme.length;
    if (grapheme === " ") afterWord = end;
  }
  return afterWord ?? (end > limit - NEAR_END ? end : limit);
}

/** A grapheme, and how it is shown. */
interface Shown {
  readonly index: number;
  readonly grapheme: string;
  readonly shown: string;
  readonly width: number;
}

/** Wraps a part. A row after the last character of the text ends with an empty character. */
function rowsOf({ text, pastes }: Editor, { from, to, isLast }: Part, columns: number): readonly (readonly Shown[])[] {
  const rows: Shown[][] = [[]];
  let width = 0;
  let index = from;
  const startRow = (row: Shown[]): void => {
    rows.push(row);
    width = widthOfRow(row);
  };
  for (const grapheme of graphemes(text, from, to)) {
    const shown = grapheme === "\n" ? "" : shownCharacter(grapheme, pastes);
    const each: Shown = { index, grapheme, shown, width: widthOf(shown) };
    index += grapheme.length;
    const row = rows.at(-1) ?? [];
    const isTooLong = row.length > 0 && width + each.width > columns;
    if (!isTooLong) {
      row.push(each);
      width += each.width;
    } else if (grapheme === " " && row.at(-1)?.shown !== "") {
      row.push({ ...each, shown: "", width: 0 });
    } else {
      const space = row.findLastIndex((other) => other.grapheme === " ");
      const word = space < 0 ? [] : row.splice(space + 1);
      const isFitting = widthOfRow(word) + each.width <= columns;
      if (!isFitting && word.length > 0) rows.push(word);
      startRow(isFitting ? [...word, each] : [each]);
    }
  }
  // A character typed after a full row appears in a new row.
  if (isLast && width >= columns) rows.push([]);
  if (isLast) rows.at(-1)?.push({ index, grapheme: "", shown: "", width: 0 });
  return rows;
}

function widthOfRow(row: readonly Shown[]): number {
  return row.reduce((sum, { width }) => sum + width, 0);
}

function cellsOf(row: readonly Shown[]): readonly Cell[] {
  let column = 0;
  return row.map(({ index, width }) => {
    const cell = { index, column };
    column += width;
    return cell;
  });
}
