import { plural } from "../../lib/index.ts";
import { boundaryAtOrAfter, boundaryBefore } from "../screen/graphemes.ts";

/** Text that is being written. All functions here are pure. */
export interface Editor {
  /** Line breaks are `\n`. A folded paste is one private character. */
  readonly text: string;
  /** Index in the text, always between two graphemes. */
  readonly cursor: number;
  /** Text that was last removed with a key that removes more than one character. */
  readonly killed: string;
  /** The folded pastes, in the order of their characters. */
  readonly pastes: readonly Paste[];
}

interface Paste {
  readonly content: string;
  /** How the paste is shown: its size. */
  readonly shown: string;
}

export const emptyEditor: Editor = { text: "", cursor: 0, killed: "", pastes: [] };

/** Pasted text with more lines or characters than this is folded. */
const MAX_SHOWN_LINES = 8;
const MAX_SHOWN_CHARACTERS = 1_000;

/** First of the private-use characters that represent folded pastes. No font has glyphs for them. */
const FIRST_FOLD = 0x10f000;
const MAX_FOLDS = 0xf00;
const folds = /[\u{10f000}-\u{10feff}]/gu;

export function editorWith(text: string): Editor {
  return insert(emptyEditor, text);
}

/** Inserts typed text at the cursor. */
export function insert(editor: Editor, typed: string): Editor {
  return insertRaw(editor, clean(typed));
}

/**
 * Inserts pasted text. Long text is folded into one character, which `shownCharacter` shows as the size of the text.
 */
export function paste(editor: Editor, pasted: string): Editor {
  const content = clean(pasted);
  const isLong = content.length > MAX_SHOWN_CHARACTERS || content.split("\n").length > MAX_SHOWN_LINES;
  if (!isLong) return insertRaw(editor, asMention(content));
  if (editor.pastes.length >= MAX_FOLDS) return insertRaw(editor, content);
  const character = String.fromCodePoint(FIRST_FOLD + editor.pastes.length);
  const lines = content.replace(/\n$/, "").split("\n").length;
  const size = lines > 1 ? plural(lines, "line") : plural(content.length, "character");
  return insertRaw({ ...editor, pastes: [...editor.pastes, { content, shown: `[pasted ${size}]` }] }, character);
}

/** Converts the path of an image to a mention. A terminal pastes the path of a file that is dropped on it. */
function asMention(text: string): string {
  const [, path] = /^\s*(?:file:\/\/)?(['"]?)([/~][^\s'"]*\.(?:png|jpe?g|gif|webp))\1\s*$/i.exec(text)?.slice(1) ?? [];
  return path === undefined ? text : `@${path} `;
}

function insertRaw(editor: Editor, added: string): Editor {
  const { text, cursor } = editor;
  const next = `${text.slice(0, cursor)}${added}${text.slice(cursor)}`;
  // The new text may form one character with the text that follows.
  return { ...editor, text: next, cursor: boundaryAtOrAfter(next, cursor + added.length) };
}

function clean(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(folds, "");
}

/** Returns the text to send, with the full content of every paste. */
export function wholeText({ text, pastes }: Editor): string {
  return text.replace(folds, (character) => pastes[indexOfFold(character)]?.content ?? "");
}

/** Returns how a character is shown. */
export function shownCharacter(grapheme: string, pastes: readonly Paste[]): string {
  const code = grapheme.codePointAt(0) ?? 0;
  if (code < FIRST_FOLD || code >= FIRST_FOLD + MAX_FOLDS) return grapheme === "\t" ? "  " : grapheme;
  return pastes[indexOfFold(grapheme)]?.shown ?? "";
}

function indexOfFold(character: string): number {
  return (character.codePointAt(0) ?? 0) - FIRST_FOLD;
}

export function moveLeft(editor: Editor): Editor {
  return { ...editor, cursor: boundaryBefore(editor.text, editor.cursor) };
}

export function moveRight(editor: Editor): Editor {
  return { ...editor, cursor: boundaryAtOrAfter(editor.text, editor.cursor + 1) };
}

export function moveWordLeft(editor: Editor): Editor {
  return { ...editor, cursor: wordStart(editor) };
}

export function moveWordRight(editor: Editor): Editor {
  const { text } = editor;
  let end = editor.cursor;
  while (end < text.length && !letter.test(codePointAt(text, end))) end += codePointAt(text, end).length;
  while (end < text.length && letterOrMark.test(codePointAt(text, end))) end += codePointAt(text, end).length;
  return { ...editor, cursor: boundaryAtOrAfter(text, end) };
}

export function moveHome(editor: Editor): Editor {
  return { ...editor, cursor: lineStart(editor) };
}

export function moveEnd(editor: Editor): Editor {
  return { ...editor, cursor: lineEnd(editor) };
}

export function deleteBack(editor: Editor): Editor {
  return without(editor, boundaryBefore(editor.text, editor.cursor), editor.cursor);
}

export function deleteForward(editor: Editor): Editor {
  return without(editor, editor.cursor, boundaryAtOrAfter(editor.text, editor.cursor + 1));
}

export function deleteWordBack(editor: Editor): Editor {
  return kill(editor, wordStart(editor), editor.cursor);
}

/** Removes the rest of the line, or the line break if the cursor is at the end of the line. */
export function killToEnd(editor: Editor): Editor {
  const end = lineEnd(editor);
  return kill(editor, editor.cursor, end === editor.cursor ? Math.min(end + 1, editor.text.length) : end);
}

export function killToStart(editor: Editor): Editor {
  return kill(editor, lineStart(editor), editor.cursor);
}

export function yank(editor: Editor): Editor {
  return insertRaw(editor, editor.killed);
}

/** Replaces part of the text, such as a name that is being completed, and places the cursor after it. */
export function replacePart(
  editor: Editor,
  { from, to }: { readonly from: number; readonly to: number },
  by: string,
): Editor {
  return insert(without({ ...editor, cursor: to }, from, to), by);
}

function kill(editor: Editor, from: number, to: number): Editor {
  return from === to ? editor : { ...without(editor, from, to), killed: editor.text.slice(from, to) };
}

function without(editor: Editor, from: number, to: number): Editor {
  const text = `${editor.text.slice(0, from)}${editor.text.slice(to)}`;
  return { ...editor, text, cursor: boundaryAtOrAfter(text, from) };
}

function lineStart({ text, cursor }: Editor): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd({ text, cursor }: Editor): number {
  const end = text.indexOf("\n", cursor);
  return end === -1 ? text.length : end;
}

const letter = /[\p{L}\p{N}_]/u;
const letterOrMark = /[\p{L}\p{N}_\p{M}]/u;

function wordStart({ text, cursor }: Editor): number {
  let start = cursor;
  while (start > 0 && !letter.test(codePointBefore(text, start))) start -= codePointBefore(text, start).length;
  while (start > 0 && letterOrMark.test(codePointBefore(text, start))) start -= codePointBefore(text, start).length;
  return boundaryBefore(text, start + 1);
}

function codePointAt(text: string, index: number): string {
  return String.fromCodePoint(text.codePointAt(index) ?? 0);
}

function codePointBefore(text: string, index: number): string {
  const pair = index > 1 ? codePointAt(text, index - 2) : "";
  return pair.length === 2 ? pair : (text[index - 1] ?? "");
}
