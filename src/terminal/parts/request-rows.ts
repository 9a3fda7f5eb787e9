import { agentOf, approvalText, breakLines, describeRequest, type SessionView, wishWords } from "../../client/index.ts";
import { showExactly } from "../../lib/index.ts";
import type { ApprovalQuestion } from "../../protocol/index.ts";
import { planRows } from "../conversation/plan-rows.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine, spread, wrap } from "../screen/text.ts";
import { nameOf } from "./agents-panel.ts";
import { changeRows, fileChange, spokenChange } from "./change-rows.ts";

/**
 * Returns the names of the agents from the main agent down to the one that is asking: `main › general-purpose ›
 * Explore`.
 */
function askerPath({ path, agentType }: ApprovalQuestion, view: SessionView): string {
  if (path.length === 0) return agentType;
  const names = path.map((agentId) => {
    const agent = agentOf(view, agentId);
    return agent === undefined ? agentId : nameOf(agent);
  });
  return ["main", ...names].map(showExactly).join(" › ");
}

/** Returns the line that says which agent is asking, and whether it asks for approval or has a question. */
export function requestHead(
  question: ApprovalQuestion,
  view: SessionView,
  { columns, waiting }: { readonly columns: number; readonly waiting: number },
): Row {
  const path = askerPath(question, view);
  const agent = agentOf(view, question.agentId);
  const about = agent?.description ? ` (${cleanLine(agent.description)})` : "";
  const isPlan = planRows(question.call, columns) !== undefined;
  const verb = question.kind === "question" ? "has a question" : `asks for approval${isPlan ? " of its plan" : ""}`;
  return spread(
    [span("  ? ", "strong"), span(path, "bold"), span(about, "dim"), span(` ${verb}`)],
    waiting > 1 ? [span(`1 of ${waiting}`, "warn")] : [],
    columns - 1,
  );
}

/** Returns the whole call as it will run, with misleading characters made visible, and why it needs approval. */
export function requestRows(
  question: ApprovalQuestion,
  { columns, diff }: { readonly columns: number; readonly diff: string | undefined },
): readonly Row[] {
  const { call, details } = shownRequest(question);
  const change = fileChange(question.call);
  const rows = (text: string, isCall: boolean): readonly Row[] =>
    shownLines(text).flatMap((line) => {
      const first = [span(isCall ? EDGE : "    ", isCall ? "warn" : undefined)];
      return wrap([span(line, isCall ? undefined : "dim")], { columns: columns - 1, first, others: first });
    });
  const plan = planRows(question.call, columns - 1 - EDGE.length);
  return [
    ...(plan === undefined ? rows(call, true) : plan.map((row) => [span(EDGE, "warn"), ...row])),
    ...(change === undefined ? [] : changeRows(change, diff, columns)),
    ...details.flatMap((line) => rows(line, false)),
  ];
}

/** Shown before each row of a call. */
const EDGE = "  │ ";

export interface SpokenOptions {
  readonly columns: number;
  readonly diff: string | undefined;
  /** Number of open requests, including this one. */
  readonly waiting: number;
}

/**
 * Returns the same request as sentences, for screen readers: who is asking, the whole call, and why it needs approval.
 */
export function spokenRequest(
  question: ApprovalQuestion,
  view: SessionView,
  { columns, diff, waiting }: SpokenOptions,
): readonly Row[] {
  const { call, details } = shownRequest(question);
  const change = fileChange(question.call);
  const which = waiting > 1 ? ` This is the first of ${waiting} requests.` : "";
  const rows = (lines: readonly string[]): readonly Row[] =>
    lines.flatMap((line) => wrap([span(line)], { columns: columns - 1 }));
  const plan = planRows(question.call, columns - 1);
  return [
    [],
    ...rows([`${askerPath(question, view)} asks for approval${plan === undefined ? "" : " of its plan"}.${which}`]),
    ...(plan ?? rows(shownLines(call))),
    ...rows(change === undefined ? [] : spokenChange(change, diff)),
    ...rows(details.flatMap(shownLines)),
  ];
}

function shownLines(text: string): readonly string[] {
  return breakLines(text)
    .split("\n")
    .map((line, index) => (index === 0 ? line : line.trimStart()));
}

/** Returns a request as text, without the inputs that are already part of the shown change. */
function shownRequest(question: ApprovalQuestion): { readonly call: string; readonly details: readonly string[] } {
  const { call, details } = describeRequest(question);
  const change = fileChange(question.call);
  const { rule, scope, reason } = question.decision;
  // A built-in rule's reason says what the rule checks.
  const isNamed = scope === "builtin" || reason.includes(rule);
  const because = isNamed ? [] : [`rule: ${showExactly(rule)} (${scope})`];
  if (change === undefined) return { call, details: [...details, ...because] };
  const { inputs, others } = approvalText(question.call);
  const kept = inputs.filter((_, index) => !change.fields.includes(others[index]?.field ?? ""));
  return { call, details: [...kept, ...details.slice(inputs.length), ...because] };
}

/** Describes in one line what an agent is waiting for. */
export function requestLine(question: ApprovalQuestion, view: SessionView): string {
  const { cwd } = agentOf(view, question.agentId) ?? {};
  return cleanLine(`${askerPath(question, view)} ${wishWords(question.call, cwd)}`);
}
