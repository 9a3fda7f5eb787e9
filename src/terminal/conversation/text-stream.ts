import type { Row } from "../screen/row.ts";
import { codeRows, markdownRows } from "./markdown.ts";
import { splitCode, splitDraft } from "./split-draft.ts";

/** Text that is printed block by block while it is being written. */
export interface TextStream {
  /** Processes the current text, which must begin with the text from the last call. Returns rows to print. */
  grow(text: string, limits: Limits): readonly Row[];
  /** Processes the complete text. Returns the rows that have not been printed yet. */
  finish(text: string, limits: Limits): readonly Row[];
  /** Returns the rows of the block that is being written. */
  rest(limits: Limits): readonly Row[];
  /** The part of the text that has been printed. */
  readonly printed: string;
}

export interface Limits {
  readonly columns: number;
  /** Width of code; defaults to the width of text. */
  readonly codeColumns?: number | undefined;
  /** Number of rows above which the complete lines of an unfinished block are printed, if it can be split. */
  readonly rows: number;
}

/** Number of printed lines that the highlighter gets as context, for example to know that a comment is open. */
const MAX_BEFORE = 50;

export function createTextStream(): TextStream {
  let printed = "";
  /** Line that opened the code block that the unprinted text continues; empty if there is none. */
  let opening = "";
  let rest = "";
  /** The last lines of that code block that have been printed. */
  let before: readonly string[] = [];
  let needsBlank = false;

  const blocks = (markdown: string, { columns, codeColumns }: Limits): readonly Row[] => {
    const rows = markdownRows(markdown, columns, codeColumns);
    // The code block has ended, and all its lines have been printed.
    if (rows.length === 0 && opening !== "") needsBlank = true;
    if (rows.length === 0) return [];
    const spaced = needsBlank ? [[], ...rows] : rows;
    needsBlank = true;
    return spaced;
  };
  const grow = (text: string, limits: Limits): readonly Row[] => {
    const rows: Row[] = [];
    const split = splitDraft(`${opening}${text.slice(printed.length)}`);
    rest = split.rest;
    if (split.done !== "") {
      rows.push(...blocks(split.done, limits));
      opening = "";
      before = [];
    }
    const isTooLong = markdownRows(rest, limits.columns, limits.codeColumns).length > limits.rows;
    const code = isTooLong ? splitCode(rest) : undefined;
    if (code !== undefined) {
      if (needsBlank) rows.push([]);
      const { language } = code;
      rows.push(...codeRows(code.code, { language, columns: limits.codeColumns ?? limits.columns, before }));
      before = [...before, ...code.code.split("\n")].slice(-MAX_BEFORE);
      rest = code.rest;
      opening = rest.slice(0, rest.indexOf("\n") + 1);
      // The lines that follow belong to the same code block.
      needsBlank = false;
    }
    printed = text.slice(0, text.length - (rest.length - opening.length));
    return rows;
  };
  return {
    grow,
    finish: (text, limits) => {
      const rows = [...grow(text, limits), ...blocks(rest, limits)];
      rest = "";
      printed = text;
      return rows;
    },
    rest: ({ columns, codeColumns }) => {
      const rows = markdownRows(rest, columns, codeColumns);
      return needsBlank && rows.length > 0 ? [[], ...rows] : rows;
    },
    get printed() {
      return printed;
    },
  };
}
