import type { Drawing } from "../app.ts";
import { editKey } from "../editor/edit-key.ts";
import { editorWith, wholeText } from "../editor/editor.ts";
import { editorRows, moveVertically } from "../editor/editor-rows.ts";
import type { Key } from "../screen/keys.ts";
import { span } from "../screen/row.ts";
import { widthOf } from "../screen/text.ts";

/** Text that the user enters within another part of the screen, such as the reason for a denial. */
export interface LineInput {
  /** Draws the rows around the cursor, at most the given number. */
  draw(columns: number, rows?: number): Drawing;
  /** Handles a key. `done`: the user has finished. `back`: the user has cancelled. */
  key(key: Key): "done" | "back" | "edited";
  readonly text: string;
}

const MAX_ROWS = 8;

export function createLineInput(label: string, text = ""): LineInput {
  let editor = editorWith(text);
  let width = 80;
  return {
    get text() {
      return wholeText(editor);
    },
    draw: (columns, most = MAX_ROWS) => {
      const indent = 2 + widthOf(label);
      width = Math.max(8, columns - indent - 2);
      const around = { above: most - 1, below: most - 1 };
      const { rows, cursor, hasEarlier, hasLater } = editorRows(editor, { columns: width, ...around });
      const first = Math.max(0, Math.min(cursor.row - Math.floor(most / 2), rows.length - most));
      const shown = rows.slice(first, first + most);
      const isCut = (index: number): boolean =>
        (index === 0 && (first > 0 || hasEarlier)) || (index === most - 1 && (first + most < rows.length || hasLater));
      return {
        rows: shown.map((row, index) => [
          span(isCut(index) ? "… " : "  ", "dim"),
          span(first + index === 0 && !hasEarlier ? label : " ".repeat(widthOf(label)), "accent"),
          span(row),
        ]),
        cursor: { row: cursor.row - first, column: cursor.column + indent },
      };
    },
    key: (key) => {
      if (key.kind === "key" && key.name === "enter") return "done";
      if (key.kind === "key" && (key.name === "esc" || key.name === "ctrl-c")) return "back";
      const by = key.kind !== "key" ? undefined : key.name === "up" ? -1 : key.name === "down" ? 1 : undefined;
      editor = (by === undefined ? editKey(editor, key) : moveVertically(editor, by, width)) ?? editor;
      return "edited";
    },
  };
}
