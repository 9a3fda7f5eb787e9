import { formatCount, isRecord, showExactly, stripControls } from "../../lib/portable.ts";
import { type ApprovalQuestion, canonicalToolName, type ToolCall, type UserQuestion } from "../../protocol/index.ts";
import { describeCall, fieldsByTool, oneLine } from "./describe-call.ts";

/** A tool call as shown to the person who decides on it. Different calls never have the same text. */
export interface ApprovalText {
  /** The tool and its main input, such as the command, on one line and never truncated. */
  readonly call: string;
  /** All other inputs, one line each. */
  readonly inputs: readonly string[];
  /** The same inputs, unformatted. */
  readonly others: readonly { readonly field: string; readonly value: string }[];
  /** The main input, if there is one. */
  readonly main?: { readonly field: string; readonly value: string } | undefined;
}

/** Describes a call to the person who decides on it. */
export function approvalText({ name, inputJson }: Pick<ToolCall, "name" | "inputJson">): ApprovalText {
  const fields = parseFields(inputJson);
  const tool = showExactly(name);
  const main = fieldsByTool.get(canonicalToolName(name))?.find((field) => typeof fields?.[field] === "string");
  if (fields === undefined || main === undefined)
    return { call: `${tool} ${showExactly(inputJson)}`, inputs: [], others: [] };
  const others = Object.entries(fields)
    .filter(([field]) => field !== main)
    .map(([field, value]) => ({ field, value: typeof value === "string" ? value : JSON.stringify(value) }));
  const value = String(fields[main]);
  return {
    main: { field: main, value },
    call: `${tool} ${showExactly(value)}`,
    inputs: others.map(({ field, value }) => `${showExactly(field)}: ${showExactly(value)}`),
    others,
  };
}

/** A request for approval as shown to the person who answers it. */
export interface RequestText {
  readonly call: string;
  /** The call's inputs, the reason why it needs approval, and the permissions that the approval grants. */
  readonly details: readonly string[];
  /** For each of the agent's questions, the question and its options. */
  readonly choices: readonly (readonly string[])[];
}

/** The parts of a request that are shown. */
export interface ShownRequest extends Pick<ApprovalQuestion, "call" | "grants" | "questions"> {
  readonly decision: Pick<ApprovalQuestion["decision"], "reason">;
}

/** Describes a request for approval, or an agent's questions. */
export function describeRequest({ call, decision, grants = [], questions = [] }: ShownRequest): RequestText {
  const isQuestion = questions.length > 0;
  const shown = isQuestion ? { call: `${call.name} ${describeCall(call)}`, inputs: [] } : approvalText(call);
  const granted = grants.length > 0 ? [`allows the agent: ${grants.map(showExactly).join(", ")}`] : [];
  return {
    call: shown.call,
    details: [...shown.inputs, showExactly(decision.reason), ...granted],
    choices: questions.map(describeQuestion),
  };
}

function describeQuestion({ header, question, options, multiSelect }: UserQuestion): readonly string[] {
  return [
    `${oneLine(header)}: ${wholeText(question)}${multiSelect ? " (choose one or more)" : ""}`,
    ...options.map(({ label, description }, index) => {
      const about = description === undefined ? "" : ` - ${wholeText(description)}`;
      return `  ${index + 1}. ${wholeText(label)}${about}`;
    }),
  ];
}

/** Returns the complete text for people, with its line breaks but without control characters. */
function wholeText(text: string): string {
  const lines = text.trim().split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.map((line) => stripControls(line).trimEnd()).join("↵");
}

/**
 * Shows the line breaks in a line of a request. The text after a break is indented, so that it doesn't look like a
 * separate line.
 */
export function breakLines(line: string): string {
  return line.replaceAll("↵", "↵\n        ");
}

/** Parses a call's input. Returns undefined if it is not an object. */
export function parseFields(inputJson: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const input: unknown = JSON.parse(inputJson);
    return isRecord(input) ? input : undefined;
  } catch {
    return undefined;
  }
}

/** Maximum length of a call in a message, in characters. */
const MAX_SHOWN = 4_000;

/** Truncates text that is too long for a message. Returns undefined if the text is short enough. */
export function cutForMessage(text: string): string | undefined {
  if (text.length <= MAX_SHOWN) return undefined;
  return `${text.slice(0, MAX_SHOWN)} … (${formatCount(text.length - MAX_SHOWN)} more characters)`;
}

/** Returns a rule as shown to people. Says so if the rule is only a tool's name, which allows every call of the tool. */
export function showRule(rule: string): string {
  return `${showExactly(rule)}${rule.includes("(") ? "" : " (every call)"}`;
}
