import {
  answerWords,
  approvalText,
  type CallItem,
  callWords,
  firstSentence,
  isInBackground,
  outputLines,
  repliesTo,
  resultText,
  resultWords,
  todosOf,
  wishWords,
  workedMs,
} from "../../client/index.ts";
import { formatDuration, maskLogin, plural } from "../../lib/index.ts";
import { canonicalToolName } from "../../protocol/index.ts";
import { type Row, type Span, type Style, span } from "../screen/row.ts";
import { cleanLine, cleanLines, cut, cutRow, pad, spread, wrap } from "../screen/text.ts";
import { diffRows } from "./diff-rows.ts";
import { planRows } from "./plan-rows.ts";

interface CallOptions {
  /** Width available for text. */
  readonly columns: number;
  /** The user's name. */
  readonly user?: string | undefined;
  /** Shows the call as a sentence, without symbols and columns. */
  readonly isPlain?: boolean | undefined;
}

const NAME_COLUMNS = 6;
const INDENT = "    ";

/**
 * Returns a call's rows: one line with its description, result and duration, then the user's answer if the call needed
 * one, then the end of its output.
 */
export function callRows(item: CallItem, { columns, isPlain, user }: CallOptions): readonly Row[] {
  const { result } = item;
  const name = toolLabel(item.name);
  const images = (result?.content ?? []).filter(({ type }) => type === "image").length;
  const words = images > 0 ? plural(images, "image") : resultWords(item);
  const isRunning = isInBackground(item);
  const worked = workedMs(item);
  const duration = worked === undefined || isRunning || isOnlyAnswer(item) ? "" : formatDuration(worked);
  // A reason does not fit at the end of the line.
  const at = words.indexOf(": ");
  const [word, reason] = at < 0 ? [words, ""] : [words.slice(0, at), words.slice(at + 2)];
  const answer = answerRows(item, { columns, user, isPlain });
  const plan = planRows(item, columns - INDENT.length);
  const target = plan === undefined ? item.target : "";
  // The user's answer contains the reason for a denial.
  const isTold = reason === "" || (result?.outcome === "denied" && answer.length > 0);
  if (isPlain) {
    const facts = [word, duration].filter((part) => part !== "").join(", ");
    const head: Row = [
      span(cleanLine(`${name}${target === "" ? "" : ` ${target}`}${facts === "" ? "" : `: ${facts}`}`)),
    ];
    const why = isTold ? [] : wrap([span(cleanLine(reason))], { columns });
    return [head, ...(plan ?? []), ...answer, ...why, ...todoRows(item, columns)];
  }
  const head = spread(
    [
      span("  "),
      markOf(item),
      span(` ${pad(name, Math.max(NAME_COLUMNS, name.length))} `),
      // Questions are shown with their replies.
      {
        ...span(repliesTo(item).length > 0 ? "" : cleanLine(target), "dim"),
        isPath: pathTools.has(canonicalToolName(item.name)),
      },
    ],
    [span([word, duration].filter((part) => part !== "").join(" · "), "dim")],
    columns,
  );
  const why = isTold ? [] : wrap([span(cleanLine(reason), "bad")], { columns, first: [span(INDENT)] });
  return [head, ...indented(plan ?? []), ...answer, ...why.slice(0, MAX_REASON_ROWS), ...outputRows(item, columns)];
}

function indented(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => (row.length === 0 ? row : [span(INDENT), ...row]));
}

/** Tools whose call descriptions end with a path. */
const pathTools: ReadonlySet<string> = new Set(["Read", "Edit", "Write", "NotebookEdit", "LS", "Grep", "Glob"]);

/** Returns whether a call only waited for the user and did no work itself. */
function isOnlyAnswer({ name, result }: CallItem): boolean {
  return result?.outcome === "denied" || canonicalToolName(name) === "AskUserQuestion";
}

/** Returns rows with the user's answer to a call's approval request, or to the questions that the call asked. */
export function answerRows(item: CallItem, { columns, user, isPlain }: CallOptions): readonly Row[] {
  const words = isPlain ? sentence(answerWords(item, user)) : answerWords(item, user);
  const row = (spans: Row): readonly Row[] => wrap(spans, { columns, first: [span(isPlain ? "" : INDENT)] });
  return [
    ...(words === "" ? [] : row([span(cleanLine(words), "dim")])),
    ...repliesTo(item).flatMap(({ question, reply }) =>
      row([span(`${cleanLine(question)} `, "dim"), span(cleanLine(reply) || "The agent decides.")]),
    ),
  ];
}

const MAX_REASON_ROWS = 3;

function markOf(item: CallItem): Span {
  if (isInBackground(item)) return span("→", "accent");
  switch (item.result?.outcome) {
    case "ok":
      return span("✓", "good");
    case "denied":
    case "cancelled":
      return span("–", "warn");
    default:
      return span("✗", "bad");
  }
}

/** Maximum number of diff rows to show for a change. */
const MAX_DIFF_ROWS = 30;
/** Number of lines to show from a command's output, if it succeeded and if it failed. */
const LAST_LINES = { ok: 2, failed: 5 };

/** Returns the visible result of a call: a change, the end of its output, a list, or an agent's report. */
function outputRows(item: CallItem, columns: number): readonly Row[] {
  const { result, name } = item;
  const isOk = result?.outcome === "ok";
  const { diff, path } = result?.details ?? {};
  if (isOk && typeof diff === "string")
    return diffRows(diff, { columns, path: typeof path === "string" ? path : "", max: MAX_DIFF_ROWS });
  const isInterrupted = result?.outcome === "cancelled" || result?.outcome === "denied";
  const lines = isInterrupted ? [] : outputLines(item).slice(isOk ? -LAST_LINES.ok : -LAST_LINES.failed);
  const report =
    isOk && canonicalToolName(name) === "Task" && !isInBackground(item) ? firstSentence(resultText(item)) : "";
  const shown = [...lines, ...(report === "" ? [] : [report])];
  const rows = shown.map((line) => cutRow([span(INDENT), span(cleanLine(line), "dim")], columns));
  return [...rows, ...todoRows(item, columns)];
}

const todoMarks = { completed: "☑", in_progress: "▸", pending: "☐" };
const todoStyles: Readonly<Record<string, Style>> = { completed: "dim", in_progress: "bold" };

function todoRows(item: CallItem, columns: number): readonly Row[] {
  return todosOf(item).flatMap(({ content, status }) =>
    wrap([span(cleanLine(content), todoStyles[status])], {
      columns,
      first: [span(`${INDENT}${todoMarks[status]} `, status === "in_progress" ? "accent" : "dim")],
    }),
  );
}

/** Returns whether a call is waiting for the user. */
export function isAsking({ approval }: CallItem): boolean {
  return approval !== undefined && approval.answer === undefined;
}

/** Returns the row for a call that has no result yet: what it is doing, or what its agent is asking for. */
export function openCall(item: CallItem, cwd: string | undefined): Row {
  if (isAsking(item)) return [span("  "), span("?", "strong"), activitySpan(` ${wishWords(item, cwd)}`)];
  return [span("  "), span("●", "accent"), activitySpan(` ${callWords(item)}`)];
}

/** Returns an agent's activity. If it is too long, a path is cut before the file name, and a command at its end. */
export function activitySpan(words: string, style?: Style): Span {
  return { ...span(cleanLine(words), style), isPath: !words.includes(": ") && /\/[^/ ]+$/.test(words) };
}

/** Returns a call's line and the user's answer, followed by the call's complete input and output. */
export function wholeCallRows(item: CallItem, { columns, user, isPlain }: CallOptions): readonly Row[] {
  const [head = []] = callRows(item, { columns, isPlain });
  const { main, others, call } = approvalText(item);
  const block = (text: string, style?: Style): readonly Row[] =>
    cleanLines(text.trimEnd()).flatMap((line) => wrap([span(line, style)], { columns, first: [span(INDENT)] }));
  const titled = (title: string, rows: readonly Row[]): readonly Row[] =>
    rows.length === 0 ? [] : [[], [span(`  ${title}`, "dim")], ...rows];
  const { diff, path } = item.result?.details ?? {};
  const change =
    typeof diff === "string"
      ? diffRows(diff, { columns, path: typeof path === "string" ? path : "", max: Number.MAX_SAFE_INTEGER })
      : [];
  const output = resultText(item);
  const plan = planRows(item, columns - INDENT.length);
  return [
    head,
    ...answerRows(item, { columns, user, isPlain }),
    ...titled(
      main?.field ?? "input",
      plan === undefined
        ? block(main?.field === "url" ? maskLogin(main.value) : (main?.value ?? call))
        : indented(plan),
    ),
    ...others.flatMap(({ field, value }) => titled(cleanLine(field), block(value))),
    ...titled("change", change),
    ...titled("output", output.trim() === "" ? [] : block(output)),
  ];
}

function sentence(words: string): string {
  return words === "" ? "" : `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Returns a tool's name for display: `mcp__github__search` becomes `github search`. */
function toolLabel(name: string): string {
  const canonical = canonicalToolName(name);
  return cut(cleanLine(canonical.replace(/^mcp__/, "").replaceAll("__", " ")), 30);
}
