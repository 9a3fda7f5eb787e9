import { boundText, formatCount, formatDuration, plural } from "../../lib/index.ts";
import type { AcceptanceResult, CommandFact, DeniedFact, Notice, Outcome, RunEnd } from "../../protocol/index.ts";
import type { SubagentResult } from "./subagent.ts";

/** Characters of a report that a parent's context is given; the rest is kept where it can be read. */
export const LONGEST_REPORT = 32_000;
const LONGEST_NOTICES = 3 * LONGEST_REPORT;

/** What a parent's model reads of a run it waited for or asks after, in its own words or as many as there is room for. */
export function resultText(run: SubagentResult, words = run.end.text): string {
  const { agentId, agentType, end } = run;
  if (end.outcome === "failed" || end.outcome === "stopped") return errorText(run, words);
  const attributes = attributesOf({ agent: agentType, id: agentId, status: statusOf(end.outcome) });
  return `<task_result${attributes}>\n${neutral(words)}\n</task_result>\n${trailer(run)}${early(end)}${cure(run)}`;
}

function errorText(run: SubagentResult, words: string): string {
  const { agentId, agentType, end } = run;
  const attributes = attributesOf({ agent: agentType, id: agentId, status: end.outcome });
  const said = words.trim() === "" ? "" : `\nIts last words:\n${neutral(words)}`;
  const why = neutral(end.message ?? end.reason);
  return `<task_error${attributes}>\n${why}${said}\n</task_error>\n${trailer(run)}${cure(run)}`;
}

/** Its words are not all that was asked for: why it ended before. */
function early({ outcome, reason, message = "" }: RunEnd): string {
  return outcome === "incomplete" ? `\n[Ended early (${reason}). ${neutral(message)}]` : "";
}

function cure({ agentId, end }: SubagentResult): string {
  if (end.outcome === "succeeded") return "";
  // What it spent counts for its next run too.
  const when = end.reason === "budget" ? "When it may, " : "";
  return `\n[${when}Task with resume: "${agentId}" goes on with it.]`;
}

/** A launch that came to nothing: there is no agent and nothing to resume. */
export function refusalText(agentType: string, message: string): string {
  return `<task_error${attributesOf({ agent: agentType })}>\n${neutral(message)}\n</task_error>`;
}

export function launchedText({
  agentId,
  outputFile,
}: {
  readonly agentId: string;
  readonly outputFile?: string | undefined;
}): string {
  const where = outputFile === undefined ? "" : ` What it does can be read in ${outputFile}.`;
  return `Agent ${agentId} works in the background; you will be told when it ends.${where} Go on with something else. TaskOutput shows how far it is, TaskStop ends it.\nagentId: ${agentId}`;
}

/** Several ends are told together, and share the room there is. */
export function noticeText(ended: readonly SubagentResult[]): string {
  const room = Math.max(400, Math.min(LONGEST_REPORT, Math.floor(LONGEST_NOTICES / ended.length)));
  const notices = ended.map((run) => {
    const { agentId, agentType, description, outputFile, end } = run;
    const attributes = attributesOf({
      agent: agentType,
      id: agentId,
      status: statusOf(end.outcome),
      ...(outputFile === undefined ? {} : { output_file: outputFile }),
    });
    const why = end.message === undefined ? "" : `${neutral(end.message)}\n`;
    const summary = `${neutral(description)}: ${end.outcome}${end.reason === "done" ? "" : ` (${end.reason})`}`;
    return `<task_notification${attributes}>\n${summary}\n${why}${neutral(wordsWithin(run, room))}\n${trailer(run)}${cure(run)}\n</task_notification>`;
  });
  return `[Told by the runtime, not by a person: ${plural(ended.length, "background agent")} ended.]\n${notices.join("\n")}`;
}

/** For words that nobody else bounds, with where the rest is. */
export function wordsWithin({ outputFile, end }: SubagentResult, maxCharacters: number): string {
  const { text, truncated } = boundText(end.text, { maxCharacters });
  if (!truncated) return text;
  const where = outputFile === undefined ? "TaskOutput shows all of it" : "all of it stands in the output file";
  return `${text}\n[The report has ${formatCount(end.text.length)} characters: ${where}.]`;
}

/** What the runtime saw, behind what the agent says. */
function trailer({ worktree, end: { usage, facts, milliseconds, costUsd, acceptance } }: SubagentResult): string {
  const { calls, tokens } = totalsOf({ usage, facts });
  const parts = [
    plural(calls, "tool call"),
    `${formatCount(tokens)} tokens`,
    ...(costUsd === undefined || costUsd === 0 ? [] : [`$${costUsd.toFixed(4)}`]),
    formatDuration(milliseconds),
    ...(facts.filesChanged.length === 0 ? [] : [`changed: ${list(facts.filesChanged.map(asName))}`]),
    ...(facts.commands.length === 0 ? [] : [`ran: ${list(facts.commands.map(ran))}`]),
    ...(facts.denied.length === 0 ? [] : [`denied: ${list(facts.denied.map(denied))}`]),
    ...(facts.unknown.length === 0 ? [] : [`outcome unknown: ${plural(facts.unknown.length, "call")}`]),
    ...(facts.agentsCut > 0 ? [`${plural(facts.agentsCut, "agent")} of its own cut short`] : []),
    ...(facts.unreturned ? [`agents of its own that did not report to it: ${ids(facts.unreturned)}`] : []),
    ...(worktree ? [`worktree: ${worktree.path}, branch ${worktree.branch} (${neutral(worktree.changes)})`] : []),
  ];
  return `[${parts.join("; ")}]${acceptance ? `\n${verdict(acceptance)}` : ""}`;
}

export function totalsOf({ usage, facts }: Pick<RunEnd, "usage" | "facts">): { calls: number; tokens: number } {
  const calls = Object.values(facts.toolCalls).reduce((sum, count) => sum + count, 0);
  const tokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
  return { calls, tokens };
}

function ids(runs: readonly Notice[]): string {
  return list(runs.map(({ agentId }) => agentId));
}

/** `"npm test" (exit 1)` */
function ran({ command, exitCode }: CommandFact): string {
  return `${quoted(command)} (${exitCode === null ? "no exit code" : `exit ${exitCode}`})`;
}

/** `Bash "npm publish"`: the tool, and what its call was about first. */
function denied({ tool, input }: DeniedFact): string {
  const first = Object.values(objectIn(input)).find((value) => typeof value === "string");
  return first === undefined ? tool : `${tool} ${quoted(first)}`;
}

function objectIn(json: string): object {
  try {
    return Object(JSON.parse(json));
  } catch {
    return {};
  }
}

function quoted(text: string): string {
  const [line = "", ...more] = text.trim().split("\n");
  return JSON.stringify(more.length > 0 || line.length > LONGEST_COMMAND ? `${line.slice(0, LONGEST_COMMAND)}…` : line);
}

const LONGEST_COMMAND = 60;

/** Said by the host, which ran the check. */
function verdict({ command, ok, exitCode, output }: AcceptanceResult): string {
  const check = `verified: ${ok} (${neutral(command)}`;
  if (ok) return `[${check})]`;
  const how = exitCode === null ? "was not run to its end" : `exit code ${exitCode}`;
  return `[${check}: ${how})]\n${neutral(output)}`;
}

/** A name can be anything, also the rest of a line like ours. */
function asName(path: string): string {
  return /[\s;,"<>[\]]/.test(path) ? JSON.stringify(path) : path;
}

function list(items: readonly string[]): string {
  const shown = items.slice(0, 10).map(neutral).join(", ");
  return items.length > 10 ? `${shown} and ${items.length - 10} more` : shown;
}

/** `completed` is what the wire calls it. */
function statusOf(outcome: Outcome): string {
  return outcome === "succeeded" ? "completed" : outcome;
}

/** Text that imitates our tags, or a system's, is only text. */
export function neutral(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:task[-_]|system[-_\s>]))/gi, "&lt;");
}

function attributesOf(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${value.replace(/[<>&"]/g, (sign) => entities[sign] ?? sign)}"`)
    .join("");
}

const entities: Readonly<Record<string, string>> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" };
