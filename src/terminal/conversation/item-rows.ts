import { type AgentView, at, changeWords, endWords, type Item, outcomeMarks, retryWords } from "../../client/index.ts";
import { formatCount, plural } from "../../lib/index.ts";
import type { AgentId, EndedNotice } from "../../protocol/index.ts";
import { type Row, type Style, span } from "../screen/row.ts";
import { cleanLine, cleanLines, spread, wrap } from "../screen/text.ts";
import { shownPrompt } from "../typed-prompt.ts";
import { callRows, wholeCallRows } from "./call-rows.ts";
import { markdownRows } from "./markdown.ts";

export interface RowOptions {
  readonly columns: number;
  /** Shows each call as a sentence, without symbols and columns, for screen readers. */
  readonly isPlain?: boolean | undefined;
  /** Shows long prompts, and each call's input and output, in full. */
  readonly isWhole?: boolean | undefined;
  /** The user's name. */
  readonly user?: string | undefined;
  /** Returns an agent's name. */
  readonly nameOf?: ((agentId: AgentId) => string) | undefined;
}

/** Maximum width of text. Longer lines are hard to read. */
const MAX_COLUMNS = 110;

/** Returns the width available for text on a terminal. */
export function textColumns(columns: number): number {
  return Math.max(20, Math.min(columns - 1, MAX_COLUMNS));
}

/** Returns the width available for code, which is wrapped only at the edge of the terminal, so that lines can be copied. */
export function codeColumns(columns: number): number {
  return Math.max(textColumns(columns), columns - 1);
}

/** Kinds of printed items. There is a blank row between items of different kinds, and around prompts and responses. */
export type PrintedKind = "prompt" | "text" | "call" | "note";

export interface PrintedItem {
  readonly kind: PrintedKind;
  readonly rows: readonly Row[];
}

/** Returns the rows to print for an item; undefined if it is not shown. */
export function printedItem(item: Item, options: RowOptions): PrintedItem | undefined {
  const columns = textColumns(options.columns);
  const note = (text: string, style: Style = "dim"): PrintedItem => ({
    kind: "note",
    rows: wrap([span(cleanLine(text), style)], { columns, first: [span("  ")] }),
  });
  const notes = (all: readonly [string, Style][]): PrintedItem | undefined =>
    all.length === 0 ? undefined : { kind: "note", rows: all.flatMap((each) => note(...each).rows) };
  switch (item.kind) {
    case "prompt":
      return { kind: "prompt", rows: promptRows(item, options) };
    case "text":
      return {
        kind: "text",
        rows: [...markdownRows(item.text, columns, codeColumns(options.columns)), ...(item.isCutOff ? [CUT_OFF] : [])],
      };
    case "thinking":
      return { kind: "note", rows: thinkingRows(item.text, options) };
    case "call":
      // A call shown in full is surrounded by blank rows, like a response.
      if (options.isWhole) return { kind: "text", rows: wholeCallRows(item, { ...options, columns }) };
      return { kind: "call", rows: callRows(item, { ...options, columns }) };
    case "notice":
      return note(item.text, "warn");
    case "retry":
      return note(item.retry === undefined ? `trying again after ${item.text}` : retryWords(item.retry));
    case "error":
      return note(item.text, "bad");
    case "agents":
      return { kind: "note", rows: (item.ended ?? []).map((ended) => endedRow(ended, options)) };
    case "change":
      return note(changeWords(item, options.nameOf));
    case "compaction":
      return note(compactionText(item));
    case "acceptance":
      return note(
        `${item.check.ok ? "✓ passed" : "✗ failed"}: ${item.check.command}`,
        item.check.ok ? undefined : "bad",
      );
    case "hook":
      return item.hook.reason === undefined ? undefined : note(`hook ${item.hook.event}: ${item.hook.reason}`);
    case "end":
      return notes(endItem(item, options.isPlain));
    default:
      return undefined;
  }
}

/** Returns whether an item is an error that the user caused, or one that the following end of the run also reports. */
export function isToldByEnd(item: Item, { items, dropped }: AgentView): boolean {
  if (item.kind !== "error") return false;
  const next = at(items, item.position - dropped + 1);
  if (next?.kind !== "end") return false;
  return next.outcome === "stopped" || next.message?.includes(item.text) === true;
}

const CUT_OFF: Row = [span("  The response was cut off here.", "warn")];

/** Maximum number of rows of a prompt, and number of its first and last rows that are shown if it has more. */
const MAX_PROMPT_ROWS = 20;
const PROMPT_END_ROWS = 8;

function promptRows(item: Extract<Item, { kind: "prompt" }>, options: RowOptions): readonly Row[] {
  const { text, images, from } = item;
  const typed = from === "person" ? shownPrompt(text) : text;
  const shown = images > 0 ? `${typed}${typed === "" ? "" : " "}[${plural(images, "image")}]` : typed;
  const mark = options.isPlain ? "You: " : "› ";
  const style = from === "person" ? "bold" : undefined;
  const blank = span(" ".repeat(mark.length));
  const lines = cleanLines(shown.trim());
  const rowsOf = (line: string, index: number): readonly Row[] =>
    wrap([span(line, style)], {
      columns: textColumns(options.columns),
      first: [index === 0 ? span(mark, "accent") : blank],
      others: [blank],
    });
  const isWhole = options.isWhole || from !== "person";
  // The middle of a long prompt is not even wrapped.
  if (!isWhole && lines.length > MAX_PROMPT_ROWS) {
    const start = lines.slice(0, PROMPT_END_ROWS).map(rowsOf);
    const end = lines.slice(-PROMPT_END_ROWS).map((line) => rowsOf(line, lines.length));
    const hidden = lines.length - shownWhole(start) - shownWhole(end.toReversed());
    return foldedRows(start.flat(), plural(hidden, "more line"), end.flat());
  }
  const rows = lines.flatMap(rowsOf);
  if (isWhole || rows.length <= MAX_PROMPT_ROWS) return rows;
  return foldedRows(rows, plural(rows.length - 2 * PROMPT_END_ROWS, "more row"), rows);
}

/** Number of rows of thinking that are shown if it has more. */
const MAX_THINKING_ROWS = 3;

/** Returns the rows of a model's thinking, of which only the first ones are shown unless `isWhole` is set. */
export function thinkingRows(text: string, { columns, isWhole, isPlain }: RowOptions): readonly Row[] {
  const mark = span(isPlain ? "Thinking: " : "  ∴ ", "dim");
  const blank = span(isPlain ? "" : "    ");
  const lines = cleanLines(text.trim()).filter((line) => line.trim() !== "");
  const rowsOf = (line: string, index: number): readonly Row[] =>
    wrap([span(line, "dim")], {
      columns: textColumns(columns),
      first: [index === 0 ? mark : blank],
      others: [blank],
    });
  const rows = lines.flatMap(rowsOf);
  if (isWhole || rows.length <= MAX_THINKING_ROWS) return rows;
  const hidden = plural(rows.length - MAX_THINKING_ROWS + 1, "more row");
  return [...rows.slice(0, MAX_THINKING_ROWS - 1), [span(`    … ${hidden} · Ctrl+O shows them`, "dim")]];
}

function foldedRows(start: readonly Row[], hidden: string, end: readonly Row[]): readonly Row[] {
  const fold: Row = [span(`  … ${hidden} · Ctrl+O shows them`, "dim")];
  return [...start.slice(0, PROMPT_END_ROWS), fold, ...end.slice(-PROMPT_END_ROWS)];
}

/** Returns how many of the lines are shown completely, from the outermost one. */
function shownWhole(lines: readonly (readonly Row[])[]): number {
  let rows = 0;
  const first = lines.findIndex(({ length }) => {
    rows += length;
    return rows > PROMPT_END_ROWS;
  });
  return first < 0 ? lines.length : first;
}

function compactionText({ before, after }: Extract<Item, { kind: "compaction" }>): string {
  if (before === undefined || after === undefined) return "conversation summarized";
  const size = `${thousands(before)} → ${thousands(after)} tokens`;
  return after < before
    ? `conversation summarized: ${size}`
    : `the summary is not shorter than the conversation: ${size}`;
}

function endItem(item: Extract<Item, { kind: "end" }>, isPlain: boolean | undefined): readonly [string, Style][] {
  const { outcome, reason, limit, message, unverified } = item;
  if (outcome === "succeeded") return [];
  const words = `${isPlain ? "" : `${outcomeMarks[outcome]} `}${endWords({ reason, limit })}`;
  const owed: readonly [string, Style][] = unverified === undefined ? [] : [[unverified, "warn"]];
  // A refusal's message is the model's answer, which has already been printed.
  if (outcome === "stopped" || reason === "refused" || message === undefined) return [[words, "warn"], ...owed];
  // The session is open, and a run that was lost with its process has already been continued.
  const cause = message.replace(/ Resume the session to continue\.$/, "");
  return [[`${words}: ${cause}`, outcome === "failed" ? "bad" : "warn"], ...owed];
}

function endedRow({ agentId, outcome }: EndedNotice, { columns, nameOf }: RowOptions): Row {
  const style = outcome === "succeeded" ? "good" : outcome === "failed" ? "bad" : "warn";
  const name = cleanLine(nameOf?.(agentId) ?? agentId);
  return spread(
    [span("  "), span(outcomeMarks[outcome], style), span(` report from ${name}`, "dim")],
    [span("delivered to the agent", "dim")],
    textColumns(columns),
  );
}

/** Formats a number of tokens: `41,220` becomes `41k`. */
export function thousands(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 10_000) return `${(count / 1_000).toFixed(1)}k`;
  return count < 1_000_000 ? `${Math.round(count / 1_000)}k` : `${formatCount(Math.round(count / 100_000) / 10)}M`;
}
