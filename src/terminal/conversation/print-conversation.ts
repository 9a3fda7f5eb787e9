import { type AgentView, type CallItem, type Draft, elements, type Item } from "../../client/index.ts";
import { canonicalToolName } from "../../protocol/index.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine } from "../screen/text.ts";
import { isAsking, openCall } from "./call-rows.ts";
import {
  codeColumns,
  isToldByEnd,
  type PrintedKind,
  printedItem,
  type RowOptions,
  textColumns,
  thinkingRows,
} from "./item-rows.ts";
import { createTextStream, type Limits, type TextStream } from "./text-stream.ts";

/** Prints an agent's conversation as it happens. Everything is printed once, in its final form. */
export interface ConversationPrinter {
  /** Returns the rows that are new since the last call, and the rows of the unfinished part. */
  update(agent: AgentView, options: PrintOptions): Printed;
}

export interface PrintOptions extends RowOptions {
  /** Number of rows for the unfinished part. */
  readonly rows: number;
}

export interface Printed {
  readonly rows: readonly Row[];
  /** The end of the text that is being written, and the calls that are running. */
  readonly open: readonly Row[];
}

export function createConversationPrinter(): ConversationPrinter {
  /** Position of the first item that may not have been printed. */
  let next = 0;
  /** Positions after `next` that have been printed. Calls are printed in the order in which they end. */
  const early = new Set<number>();
  let last: PrintedKind | undefined;
  /** Parts of the response that is being written, in order, and how many of them have been recorded. */
  let streams: TextStream[] = [];
  let turn = 0;
  let recorded = 0;
  /** Thinking in that response that has been printed, because text followed it. */
  let thoughts = "";
  /** Number of agents that were interrupted since something else was last printed. */
  let interrupted = 0;

  const spaced = (kind: PrintedKind, rows: readonly Row[]): readonly Row[] => {
    if (rows.length === 0) return [];
    const isGroup = kind === last && kind !== "prompt" && kind !== "text";
    last = kind;
    return isGroup ? rows : [[], ...rows];
  };

  /**
   * Prints an item. If part of it was printed while it was being written, only the rest is printed. If many agents were
   * interrupted together, only the first few are printed, followed by a count of the others.
   */
  const itemRows = (item: Item, options: PrintOptions): readonly Row[] => {
    const isInterrupted = item.kind === "call" && isInterruptedTask(item);
    if (isInterrupted) interrupted += 1;
    if (isInterrupted && interrupted > MAX_INTERRUPTED) return [];
    return isInterrupted ? ownRows(item, options) : [...foldedRows(options), ...ownRows(item, options)];
  };

  const foldedRows = ({ isPlain }: PrintOptions): readonly Row[] => {
    const more = interrupted - MAX_INTERRUPTED;
    interrupted = 0;
    if (more <= 0) return [];
    const words = more === 1 ? "1 more agent was interrupted" : `${more} more agents were interrupted`;
    return [[span(isPlain ? words : `  – ${words}`, "dim")]];
  };

  const ownRows = (item: Item, options: PrintOptions): readonly Row[] => {
    const stream = item.kind === "text" && item.turn === turn ? streams[recorded++] : undefined;
    if (item.kind === "text" && stream !== undefined && stream.printed !== "" && item.text.startsWith(stream.printed)) {
      last = "text";
      return stream.finish(item.text, limitsOf(options));
    }
    if (item.kind === "thinking" && item.turn === turn && thoughts.includes(item.text)) return [];
    const printed = printedItem(item, options);
    return printed === undefined ? [] : spaced(printed.kind, printed.rows);
  };

  return {
    update: (agent, options) => {
      const rows: Row[] = [];
      // When a long session is resumed, items that were dropped before they were seen are not printed.
      next = Math.max(next, agent.dropped);
      const running: CallItem[] = [];
      const isOver = agent.end !== undefined || agent.isCutOff === true;
      for (const item of elements(agent.items, next - agent.dropped)) {
        if (early.has(item.position)) continue;
        if (item.kind === "call" && item.result === undefined && !isOver) {
          running.push(item);
          continue;
        }
        // The line after an error says whether the user stopped the request.
        const isLast = item.position === agent.dropped + agent.items.length - 1;
        if (item.kind === "error" && isLast && !isOver) continue;
        if (!isToldByEnd(item, agent)) rows.push(...itemRows(item, options));
        early.add(item.position);
      }
      while (early.delete(next)) next += 1;

      const { draft } = agent;
      const texts = (draft?.parts ?? []).flatMap((part) => (part.kind === "text" ? [part.text] : []));
      const newest = draft?.parts.at(-1);
      const thinking = newest?.kind === "thinking" ? newestThoughts(newest.text, options) : [];
      if (draft === undefined || texts.length === 0) {
        const open = thinking.length > 0 ? thinking : openCalls(running, agent);
        return { rows, open: open.length > 0 && last !== "call" ? [[], ...open] : open };
      }
      // A retried response starts from the beginning.
      const isAgain = streams.some((stream, index) => !texts[index]?.startsWith(stream.printed));
      if (turn !== draft.turn || isAgain) {
        turn = draft.turn;
        streams = [];
        recorded = 0;
        thoughts = "";
      }
      const open: Row[] = [];
      const limits = limitsOf(options);
      let index = -1;
      for (const [place, part] of draft.parts.entries()) {
        if (part.kind === "call") continue;
        if (part.kind === "thinking") {
          if (isWhole(draft, place) && !thoughts.includes(part.text)) {
            rows.push(...spaced("note", thinkingRows(part.text, options)));
            thoughts += part.text;
          }
          continue;
        }
        index += 1;
        const { text } = part;
        const stream = streams[index] ?? createTextStream();
        streams[index] = stream;
        const isBegun = stream.printed !== "";
        const isComplete = index < texts.length - 1;
        const grown = isComplete ? stream.finish(text, limits) : stream.grow(text, limits);
        rows.push(...(isBegun ? grown : spaced("text", grown)));
        const rest = stream.rest(limits);
        const isFirst = stream.printed === "" && rest.length > 0;
        open.push(...(isFirst ? [[], ...rest] : rest));
      }
      if (thinking.length > 0) open.push([], ...thinking);
      return { rows, open };
    },
  };
}

/** Returns whether the thinking at this place of a draft is complete, and text follows it. */
function isWhole({ parts, isPartial, hasGaps }: Draft, place: number): boolean {
  return !isPartial && !hasGaps && parts.slice(place).some(({ kind }) => kind === "text");
}

/** Number of characters of unfinished thinking from which rows are made, and number of these rows that are shown. */
const NEWEST_THOUGHTS = 500;
const NEWEST_ROWS = 2;

function newestThoughts(text: string, options: PrintOptions): readonly Row[] {
  const rows = thinkingRows(text.slice(-NEWEST_THOUGHTS), { ...options, isWhole: true });
  return rows.slice(-NEWEST_ROWS);
}

/** Number of interrupted agents that are printed one by one. */
const MAX_INTERRUPTED = 8;

function isInterruptedTask({ name, result }: CallItem): boolean {
  return canonicalToolName(name) === "Task" && result?.outcome === "cancelled";
}

function limitsOf({ columns, rows }: PrintOptions): Limits {
  return { columns: textColumns(columns), codeColumns: codeColumns(columns), rows };
}

function openCalls(running: readonly CallItem[], agent: AgentView): readonly Row[] {
  // For a call that is waiting for agents, the agent tree shows what is happening.
  const shown = running.filter(({ agents }) => agents === undefined);
  const progressOf = ({ callId }: CallItem): string =>
    agent.calls.find((each) => each.callId === callId)?.progress ?? "";
  // The agent's activity is shown below.
  if (running.length === 1 && shown.every((item) => isAsking(item) || progressOf(item) === "")) return [];
  const rows = shown.slice(0, shown.length > MAX_OPEN ? MAX_OPEN - 1 : MAX_OPEN).map((item): Row => {
    const progress = progressOf(item);
    return [...openCall(item, agent.cwd), ...(progress === "" ? [] : [span(`  ${cleanLine(progress)}`, "dim")])];
  });
  const more = shown.length - rows.length;
  return more === 0 ? rows : [...rows, [span(`    and ${more} more calls`, "dim")]];
}

/** Maximum number of rows for calls that have no result. */
const MAX_OPEN = 6;
