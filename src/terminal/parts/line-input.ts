import type { Drawing } from "../app.ts";
import { editKey } from "../editor/edit-key.ts";
import { editorWith, wholeText } from "../editor/editor.ts";
import { editorRows } from "../editor/editor-rows.ts";
import type { Key } from "../screen/keys.ts";
import { span } from "../screen/row.ts";
import { widthOf } from "../screen/text.ts";

/** A text that the user writes as a part of something else, such as the reason for a denial. */
export interface LineInput {
  draw(columns: number): Drawing;
  /** Handles a key. `done`: the user has finished. `back`: the user does not want to write it. */
  key(key: Key): "done" | "back" | "edited";
  readonly text: string;
}

export function createLineInput(label: string, text = ""): LineInput {
  let editor = editorWith(text);
  return {
    get text() {
      return wholeText(editor);
    },
    draw: (columns) => {
      const indent = 2 + widthOf(label);
      const { rows, cursor } = editorRows(editor, Math.max(8, columns - indent - 2));
      return {
        rows: rows.map((row, index) => [
          span("  "),
          span(index === 0 ? label : " ".repeat(widthOf(label)), "accent"),
          span(row),
        ]),
        cursor: { row: cursor.row, column: cursor.column + indent },
      };
    },
    key: (key) => {
      if (key.kind === "key" && key.name === "enter") return "done";
      if (key.kind === "key" && (key.name === "esc" || key.name === "ctrl-c")) return "back";
      editor = editKey(editor, key) ?? editor;
      return "edited";
    },
  };
}
