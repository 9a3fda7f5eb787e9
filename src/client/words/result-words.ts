import { formatCount, plural } from "../../lib/portable.ts";
import { canonicalToolName, NO_APPROVER } from "../../protocol/index.ts";
import type { CallPart, CallResult } from "../view/items.ts";
import { oneLine } from "./describe-call.ts";
import { endWords } from "./words.ts";

/** A call and its result, if it has one. */
export type EndedCall = Pick<CallPart, "name" | "result" | "approval">;

/**
 * Summarizes the result of a call: `84 lines`, `14 matches`, `+6 −9`. For a failed call, returns the first line of its
 * message.
 */
export function resultWords(call: EndedCall): string {
  const { result } = call;
  if (result === undefined) return "";
  if (result.outcome === "cancelled") return "interrupted";
  if (result.outcome === "denied") return denialWords(call, result);
  if (isInBackground(call)) return "in the background";
  const { details = {} } = result;
  const number = (name: string): number | undefined =>
    typeof details[name] === "number" ? (details[name] as number) : undefined;
  const exitCode = number("exitCode");
  if (exitCode !== undefined && exitCode !== 0) return `exit code ${exitCode}`;
  if (isTask(call) && details["outcome"] === "stopped")
    return endWords({ reason: details["reason"] === "interrupted" ? "interrupted" : "stopped" });
  if (result.outcome !== "ok") return withReason(isTask(call) ? "failed" : result.outcome, resultText(call));
  const [added, removed] = [number("added"), number("removed")];
  if (added !== undefined && removed !== undefined) return `+${added} −${removed}`;
  if (isCommand(call)) return lineCount(outputLines(call));
  for (const [name, [one, many]] of Object.entries(counted)) {
    const count = number(name);
    if (count !== undefined) return `${formatCount(count)} ${count === 1 ? one : many}`;
  }
  return "";
}

/** Counts lines of output. If the middle of the output was left out, the total is unknown. */
function lineCount(lines: readonly string[]): string {
  const shown = lines.filter((line) => !leftOut.test(line)).length;
  if (shown < lines.length) return `${plural(shown, "line")} of a longer output`;
  return shown === 0 ? "" : plural(shown, "line");
}

/** Matches the line that replaces the middle of a long output. */
const leftOut = /^\[… [\d,]+ .+ left out …\]$/;

function denialWords({ approval }: EndedCall, { content }: CallResult): string {
  const { answer, by, message = "" } = approval?.answer ?? {};
  const text = content.find((block) => block.type === "text")?.text ?? "";
  // The person who denied the call would learn nothing new from the text for the model.
  return withReason("denied", answer === "deny" && by !== NO_APPROVER ? message : text);
}

function withReason(what: string, reason: string): string {
  return reason.trim() === "" ? what : `${what}: ${oneLine(reason).slice(0, MAX_SUMMARY)}`;
}

const MAX_SUMMARY = 200;

/** Numbers in the details of results, with their singular and plural nouns, most important first. */
const counted = {
  matches: ["match", "matches"],
  files: ["file", "files"],
  entries: ["entry", "entries"],
  lines: ["line", "lines"],
  shown: ["line", "lines"],
} as const;

/** Returns whether the call has started an agent in the background, or whether its agent was moved there. */
export function isInBackground({ result }: EndedCall): boolean {
  return result?.details?.["status"] === "async_launched";
}

function isTask({ name }: EndedCall): boolean {
  return canonicalToolName(name) === "Task";
}

function isCommand({ name }: EndedCall): boolean {
  return canonicalToolName(name) === "Bash";
}

/** Returns a result's text for people. The markup for models is removed from the result of a task. */
export function resultText(call: EndedCall): string {
  const texts = (call.result?.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : []));
  const text = texts.join("\n");
  const [, report] = taskMarkup.exec(text) ?? [];
  return report === undefined ? text : report.replaceAll("&lt;", "<");
}

/** Removes the tags around agents' reports, which are for the model. */
export function withoutTags(text: string): string {
  return text.replace(/<\/?task_(?:result|error|notification)\b[^>\n]*>\n?/g, "").trim();
}

const taskMarkup = /^<task_(?:result|error)[^>]*>\n([\s\S]*?)\n?<\/task_(?:result|error)>/;

/** Returns the lines that a command has printed, without the tool's notes for the model. Empty for other calls. */
export function outputLines(call: EndedCall): readonly string[] {
  if (!isCommand(call) || call.result === undefined) return [];
  const lines = resultText(call).trimEnd().split("\n");
  if (lines.length === 1 && lines[0] === "(no output)") return [];
  const end = lines.findLastIndex((line) => !remark.test(line));
  return lines.slice(0, end + 1);
}

const remark = /^\[[A-Z].*\.\]$/;

/** A step in an agent's to-do list. */
export interface Todo {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/** Returns the to-do list that a call has written; empty for other calls. */
export function todosOf({ name, result }: EndedCall): readonly Todo[] {
  const todos = result?.outcome === "ok" && canonicalToolName(name) === "TodoWrite" ? result.details?.["todos"] : [];
  return Array.isArray(todos) ? (todos as unknown as readonly Todo[]) : [];
}

const MAX_SENTENCE = 200;

/** Returns the first sentence of a report, without headings and Markdown markup; may be empty. */
export function firstSentence(report: string): string {
  const lines = report.split("\n").filter((line) => /[\p{L}\p{N}]/u.test(line));
  const line = lines.find((each) => !/^\s*(?:#|```)/.test(each)) ?? lines[0] ?? "";
  const plain = oneLine(line.replace(/^\s*(?:#{1,6}|[-*+>]|\d+[.)])\s+|\*\*|__|`/g, ""));
  const [sentence = plain] = /^.+?[.!?](?=\s+\p{Lu})/u.exec(plain) ?? [];
  return sentence.length <= MAX_SENTENCE ? sentence : `${sentence.slice(0, MAX_SENTENCE - 1)}…`;
}
