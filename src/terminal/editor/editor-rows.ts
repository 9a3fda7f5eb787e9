import type { Position } from "../screen/screen.ts";
import { graphemes, widthOf } from "../screen/text.ts";
import { type Editor, shownCharacter } from "./editor.ts";

/** An editor's text, wrapped into rows. */
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

/**
 * Wraps an editor's text to a width, between words. A word that is longer than a row is split. A space that does not
 * fit at the end of its row is left out.
 */
export function editorRows({ text, cursor, pastes }: Editor, columns: number): EditorRows {
  const lines: Shown[][] = [[]];
  let index = 0;
  for (const grapheme of graphemes(text)) {
    const shown = grapheme === "\n" ? "" : shownCharacter(grapheme, pastes);
    lines.at(-1)?.push({ index, grapheme, shown, width: widthOf(shown) });
    index += grapheme.length;
    if (grapheme === "\n") lines.push([]);
  }
  const broken = lines.flatMap((line) => brokenLine(line, columns));
  // A character typed after a full row appears in a new row.
  if (widthOfLine(broken.at(-1) ?? []) >= columns) broken.push([]);
  const indexes = broken.map((row, at): readonly Cell[] => {
    let column = 0;
    const cells = row.map((each): Cell => {
      const cell = { index: each.index, column };
      column += each.width;
      return cell;
    });
    return at === broken.length - 1 ? [...cells, { index, column }] : cells;
  });
  const row = Math.max(
    0,
    indexes.findLastIndex(([first]) => first !== undefined && first.index <= cursor),
  );
  const column = indexes[row]?.find((cell) => cell.index === cursor)?.column ?? 0;
  return { rows: broken.map((each) => each.map(({ shown }) => shown).join("")), cursor: { row, column }, indexes };
}

/** A grapheme, and how it is shown. */
interface Shown {
  readonly index: number;
  readonly grapheme: string;
  readonly shown: string;
  readonly width: number;
}

function brokenLine(line: readonly Shown[], columns: number): Shown[][] {
  const rows: Shown[][] = [[]];
  for (const each of line) {
    const row = rows.at(-1) ?? [];
    const isTooLong = row.length > 0 && widthOfLine(row) + each.width > columns;
    const last = row.at(-1);
    if (isTooLong && each.grapheme === " " && last?.shown !== "") {
      row.push({ ...each, shown: "", width: 0 });
    } else if (isTooLong) {
      const space = row.findLastIndex(({ grapheme }) => grapheme === " ");
      const word = space < 0 ? [] : row.splice(space + 1);
      if (widthOfLine(word) + each.width <= columns) rows.push([...word, each]);
      else rows.push(...(word.length === 0 ? [] : [word]), [each]);
    } else row.push(each);
  }
  return rows;
}

function widthOfLine(line: readonly Shown[]): number {
  return line.reduce((sum, { width }) => sum + width, 0);
}

/** Moves the cursor up or down by a row, to the nearest column. Returns undefined if there is no such row. */
export function moveVertically(editor: Editor, by: -1 | 1, columns: number): Editor | undefined {
  const { cursor, indexes } = editorRows(editor, columns);
  const cells = indexes[cursor.row + by];
  if (cells === undefined) return undefined;
  const target = cells.findLast(({ column }) => column <= cursor.column) ?? cells[0];
  return { ...editor, cursor: target?.index ?? editor.cursor };
}
