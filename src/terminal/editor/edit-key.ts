import type { Key } from "../screen/keys.ts";
import {
  deleteBack,
  deleteForward,
  deleteWordBack,
  type Editor,
  insert,
  killToEnd,
  killToStart,
  moveEnd,
  moveHome,
  moveLeft,
  moveRight,
  moveWordLeft,
  moveWordRight,
  paste,
  yank,
} from "./editor.ts";

const edits: Readonly<Record<string, (editor: Editor) => Editor>> = {
  left: moveLeft,
  right: moveRight,
  "ctrl-b": moveLeft,
  "ctrl-f": moveRight,
  "alt-b": moveWordLeft,
  "alt-f": moveWordRight,
  "ctrl-left": moveWordLeft,
  "ctrl-right": moveWordRight,
  "alt-left": moveWordLeft,
  "alt-right": moveWordRight,
  home: moveHome,
  "ctrl-a": moveHome,
  end: moveEnd,
  "ctrl-e": moveEnd,
  backspace: deleteBack,
  delete: deleteForward,
  "ctrl-d": deleteForward,
  "ctrl-w": deleteWordBack,
  "alt-backspace": deleteWordBack,
  "ctrl-k": killToEnd,
  "ctrl-u": killToStart,
  "ctrl-y": yank,
  "ctrl-j": (editor) => insert(editor, "\n"),
  "alt-enter": (editor) => insert(editor, "\n"),
  "shift-enter": (editor) => insert(editor, "\n"),
};

/** Applies a key to an editor. Returns undefined if the key does not edit text. */
export function editKey(editor: Editor, key: Key): Editor | undefined {
  if (key.kind === "text") return insert(editor, key.text);
  if (key.kind === "paste") return paste(editor, key.text);
  return edits[key.name]?.(editor);
}
