import { type Editor, replacePart } from "../editor/editor.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine, cut, pad, spread, widthOf } from "../screen/text.ts";

/** A completion for the word that the user is writing. */
export interface Suggestion {
  /** Text that replaces the word. */
  readonly text: string;
  readonly about?: string | undefined;
}

export interface CompletionSources {
  /** Commands, without their slashes. */
  readonly commands: () => readonly Suggestion[];
  readonly agents: () => readonly Suggestion[];
  readonly files: () => readonly string[];
}

/** What the user is writing at the cursor. */
interface Word {
  readonly kind: "command" | "mention";
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface Completion {
  /** Updates the suggestions. Called after each change to the text. */
  update(editor: Editor): void;
  readonly isOpen: boolean;
  /** Completions that could replace the word. */
  readonly texts: readonly string[];
  move(by: -1 | 1): void;
  /** Returns the editor with the selected suggestion. */
  accept(editor: Editor): Editor;
  /** Hides the suggestions until the word changes. */
  hide(): void;
  rows(columns: number): readonly Row[];
}

const MAX_SHOWN = 6;

/** Suggests commands after a slash, and agents and files after an at sign. */
export function createCompletion(sources: CompletionSources): Completion {
  let word: Word | undefined;
  let found: readonly Suggestion[] = [];
  let selected = 0;
  let hidden = "";

  /**
   * Returns whether a mention names nothing that exists. Paths outside the directory or on a server can't be checked.
   */
  const isUnknown = ({ kind, text }: Word): boolean =>
    kind === "mention" && found.length === 0 && text !== hidden && /^@[^/~.]/.test(text) && sources.files().length > 0;

  return {
    get isOpen() {
      return found.length > 0;
    },
    get texts() {
      return found.map(({ text }) => text);
    },
    update: (editor) => {
      const next = wordAt(editor);
      const isSame = next?.text === word?.text && next?.from === word?.from;
      word = next;
      if (next?.text !== hidden) hidden = "";
      if (!isSame) selected = 0;
      found = next === undefined || next.text === hidden ? [] : suggestions(next, sources);
      selected = Math.min(selected, Math.max(0, found.length - 1));
    },
    move: (by) => {
      selected = (selected + by + found.length) % Math.max(1, found.length);
    },
    accept: (editor) => {
      const chosen = found[selected];
      if (word === undefined || chosen === undefined) return editor;
      const isDirectory = chosen.text.endsWith("/");
      return replacePart(editor, word, isDirectory ? chosen.text : `${chosen.text} `);
    },
    hide: () => {
      hidden = word?.text ?? "";
      found = [];
    },
    rows: (columns) => {
      if (word !== undefined && isUnknown(word)) {
        const text = cleanLine(`  No file or agent is named ${word.text}, so it is sent as plain text.`);
        return [[span(cut(text, columns - 1), "dim")]];
      }
      const first = Math.max(0, Math.min(selected - MAX_SHOWN + 2, found.length - MAX_SHOWN));
      const shown = found.slice(first, first + MAX_SHOWN);
      const width = Math.min(36, Math.max(0, ...shown.map(({ text }) => widthOf(text))));
      return shown.map(({ text, about = "" }, index): Row => {
        const isSelected = first + index === selected;
        const name = about === "" ? text : pad(cut(text, width), width);
        const left = [
          span(isSelected ? "› " : "  ", "accent"),
          span(cleanLine(name), isSelected ? "bold" : undefined),
          span(about === "" ? "" : `  ${cleanLine(about)}`, "dim"),
        ];
        const hasMore = index === shown.length - 1 && found.length > first + shown.length;
        return spread(left, hasMore ? [span(`${found.length - first - shown.length} more`, "dim")] : [], columns - 1);
      });
    },
  };
}

/** Maximum length of a word that can be completed. Paths are not longer. */
const MAX_WORD = 4_096;

function wordAt({ text, cursor }: Editor): Word | undefined {
  const start = Math.max(0, cursor - MAX_WORD);
  const before = text.slice(start, cursor);
  if (start === 0 && /^\/[\w:-]*$/.test(before)) return { kind: "command", from: 0, to: cursor, text: before };
  const from = start + before.lastIndexOf("@");
  const mention = text.slice(from, cursor);
  const isMention = /^@\S*$/.test(mention) && (from === 0 || /\s/.test(text[from - 1] ?? ""));
  return isMention ? { kind: "mention", from, to: cursor, text: mention } : undefined;
}

function suggestions({ kind, text }: Word, { commands, agents, files }: CompletionSources): readonly Suggestion[] {
  const query = text.slice(1).toLowerCase();
  if (kind === "command") {
    const named = commands().filter(({ text: name }) => name.toLowerCase().startsWith(query));
    // A command that is complete needs no suggestion.
    const isComplete = named.length === 1 && named[0]?.text === query;
    return isComplete ? [] : named.map((each) => ({ ...each, text: `/${each.text}` }));
  }
  const prefix = query.startsWith("agent-") ? "agent-" : "";
  const named = agents().filter(({ text: name }) => name.toLowerCase().startsWith(query.slice(prefix.length)));
  const paths = bestFiles(files(), query);
  return [
    ...named.map((each) => ({ ...each, text: `@${prefix}${each.text}` })),
    ...paths.map((path) => ({ text: `@${path}` })),
  ];
}

const MAX_FILES = 50;

/** Returns the files that match best: by the start of their names, then by any part of their paths. */
function bestFiles(files: readonly string[], query: string): readonly string[] {
  const starts: string[] = [];
  const contains: string[] = [];
  for (const path of files) {
    const lower = path.toLowerCase();
    const name = lower.slice(lower.lastIndexOf("/", lower.length - 2) + 1);
    if (name.startsWith(query) || lower.startsWith(query)) starts.push(path);
    else if (contains.length < MAX_FILES && lower.includes(query)) contains.push(path);
    if (starts.length >= MAX_FILES) break;
  }
  return [...starts, ...contains].slice(0, MAX_FILES);
}
