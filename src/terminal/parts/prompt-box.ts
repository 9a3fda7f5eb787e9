import type { Drawing, Space } from "../app.ts";
import { editKey } from "../editor/edit-key.ts";
import { type Editor, editorWith, emptyEditor, wholeText } from "../editor/editor.ts";
import { editorRows, moveVertically } from "../editor/editor-rows.ts";
import { addPrompt, type History, moveInHistory, newHistory } from "../editor/history.ts";
import type { Key } from "../screen/keys.ts";
import { type Row, span } from "../screen/row.ts";

/** The box in which the user writes prompts. */
export interface PromptBox {
  readonly editor: Editor;
  readonly isEmpty: boolean;
  /** Earlier prompts, oldest first. */
  readonly earlier: readonly string[];
  /**
   * Draws the box. The hint is shown while the box is empty. The box is dim while something else has the keyboard
   * focus.
   */
  draw(space: Space, hint: string, isActive?: boolean): Drawing;
  /** Handles a key that edits the text or moves the cursor. Returns false for any other key. */
  key(key: Key): boolean;
  change(editor: Editor): void;
  /** Goes to an older or newer prompt. Returns false if there is none. */
  browse(by: -1 | 1): boolean;
  /** Empties the box, keeps the text in the history and returns it. */
  take(): string;
  /** Empties the box. Until the user writes something else, `isCleared` is true and `browse(-1)` brings the text back. */
  clear(): void;
  readonly isCleared: boolean;
  /** Replaces the text. */
  set(text: string): void;
}

export interface PromptBoxOptions {
  /** Shown before the text. */
  readonly mark: string;
  /** Earlier prompts, oldest first. */
  readonly earlier: readonly string[];
  /** Called with each prompt that is added to the history. */
  readonly onPrompt: (prompt: string) => void;
}

export function createPromptBox({ mark, earlier, onPrompt }: PromptBoxOptions): PromptBox {
  let editor = emptyEditor;
  let history: History = newHistory(earlier);
  let columns = 80;
  /** The empty editor that `clear` has left. */
  let cleared: Editor | undefined;

  const vertically = (by: -1 | 1): boolean => {
    const moved = moveVertically(editor, by, columns);
    if (moved !== undefined) editor = moved;
    return moved !== undefined;
  };
  const browse = (by: -1 | 1): boolean => {
    const found = moveInHistory(history, by, wholeText(editor));
    if (found === undefined) return false;
    history = found.history;
    editor = editorWith(found.text);
    return true;
  };
  const take = (): string => {
    const text = wholeText(editor);
    if (text.trim() !== "") {
      history = addPrompt(history, text);
      onPrompt(text);
    }
    editor = { ...emptyEditor, killed: editor.killed };
    return text;
  };
  return {
    get editor() {
      return editor;
    },
    get isEmpty() {
      return editor.text === "";
    },
    get earlier() {
      return history.prompts;
    },
    draw: (space, hint, isActive = true) => {
      const look = isActive ? "accent" : "dim";
      columns = Math.max(8, space.columns - mark.length - 1);
      if (editor.text === "")
        return { rows: [[span(mark, look), span(hint, "dim")]], cursor: { row: 0, column: mark.length } };
      const around = space.rows - 1;
      const { rows, cursor, hasEarlier } = editorRows(editor, { columns, above: around, below: around });
      const drawn = rows
        .slice(0, space.rows)
        .map(
          (text, index): Row => [
            index === 0 && !hasEarlier ? span(mark, look) : span(index === 0 ? "↑ " : "  ", "dim"),
            span(text, isActive ? undefined : "dim"),
          ],
        );
      return { rows: drawn, cursor: { row: cursor.row, column: cursor.column + mark.length } };
    },
    key: (key) => {
      if (key.kind === "key" && (key.name === "up" || key.name === "ctrl-p")) return vertically(-1) || browse(-1);
      if (key.kind === "key" && (key.name === "down" || key.name === "ctrl-n")) return vertically(1) || browse(1);
      const edited = editKey(editor, key);
      if (edited !== undefined) editor = edited;
      return edited !== undefined;
    },
    change: (next) => {
      editor = next;
    },
    browse,
    take,
    clear: () => {
      const isBlank = take().trim() === "";
      cleared = isBlank ? undefined : editor;
    },
    get isCleared() {
      return editor === cleared;
    },
    set: (text) => {
      editor = editorWith(text);
    },
  };
}
