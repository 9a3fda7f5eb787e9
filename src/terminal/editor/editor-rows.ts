import type { Position } from "../screen/screen.ts";
import { graphemes, widthOf } from "../screen/text.ts";
import { type Editor, shownCharacter } from "./editor.ts";

/** The text of an editor, broken into rows. */
export interface EditorRows {
  readonly rows: readonly string[];
  readonly cursor: Position;
  /** For each row, the index in the text at which each of its characters begins, and the index after the last one. */
  readonly indexes: readonly (readonly Cell[])[];
}

interface Cell {
  readonly index: number;
  readonly column: number;
}

/** Breaks the text of an editor into rows of a width. Words are not kept together, so that nothing moves while typing. */
export function editorRows({ text, cursor, pastes }: Editor, columns: number): EditorRows {
  const rows: string[] = [""];
  const indexes: Cell[][] = [[]];
  let at: Position = { row: 0, column: 0 };
  let index = 0;
  let column = 0;
  const newRow = (): void => {
    rows.push("");
    indexes.push([]);
    column = 0;
  };
  for (const grapheme of graphemes(text)) {
    const shown = grapheme === "\n" ? "" : shownCharacter(grapheme, pastes);
    const width = widthOf(shown);
    if (column + width > columns && column > 0) newRow();
    if (index === cursor) at = { row: rows.length - 1, column };
    indexes.at(-1)?.push({ index, column });
    rows[rows.length - 1] += shown;
    index += grapheme.length;
    column += width;
    if (grapheme === "\n") newRow();
  }
  if (column >= columns) newRow();
  if (index === cursor) at = { row: rows.length - 1, column };
  indexes.at(-1)?.push({ index, column });
  return { rows, cursor: at, indexes };
}

/**
 * Moves the cursor up or down by a row, to the nearest column. Returns undefined if it is in the first or the last row.
 */
export function moveVertically(editor: Editor, by: -1 | 1, columns: number): Editor | undefined {
  const { cursor, indexes } = editorRows(editor, columns);
  const cells = indexes[cursor.row + by];
  if (cells === undefined) return undefined;
  const target = cells.findLast(({ column }) => column <= cursor.column) ?? cells[0];
  return { ...editor, cursor: target?.index ?? editor.cursor };
}
