import type { ApprovalAnswer, ApprovalQuestion, InboxLine, Rule } from "../protocol/index.ts";

export interface InboxState {
  readonly lines: readonly InboxLine[];
  /** In the order in which they were made. */
  readonly requests: ReadonlyMap<string, InboxEntry>;
  /** What "always" allowed; the same list as before if nothing was added. */
  readonly rules: readonly Rule[];
}

export interface InboxEntry {
  readonly question: ApprovalQuestion;
  /** Milliseconds since 1970. */
  readonly askedAt: number;
  readonly answer?: { readonly answerId: string; readonly answer: ApprovalAnswer };
  readonly isWithdrawn: boolean;
}

export const emptyInbox: InboxState = { lines: [], requests: new Map(), rules: [] };

/**
 * What the lines of an inbox say. The first answer counts that is about a request made before it, with exactly its input,
 * and not yet withdrawn. A line that is none of ours says nothing.
 */
export function foldInbox(lines: readonly unknown[], before: InboxState): InboxState {
  const read = lines.filter(isInboxLine);
  const requests = new Map<string, InboxEntry>();
  const rules = new Set<string>();
  for (const line of read) {
    const { requestId } = line;
    const entry = requests.get(requestId);
    if (line.type === "approval.requested") {
      const { v: _v, at: askedAt, type: _type, ...question } = line;
      if (entry === undefined || entry.isWithdrawn) requests.set(requestId, { question, askedAt, isWithdrawn: false });
      continue;
    }
    if (entry === undefined || entry.answer || entry.isWithdrawn) continue;
    if (line.type === "approval.withdrawn") {
      requests.set(requestId, { ...entry, isWithdrawn: true });
    } else if (line.inputHash === entry.question.inputHash) {
      const answer = answerIn(line);
      requests.set(requestId, { ...entry, answer: { answerId: line.answerId, answer } });
      if (answer.answer === "allow" && answer.always !== undefined) rules.add(answer.always.rule);
    }
  }
  return { lines: read, requests, rules: sameOr(before.rules, rules) };
}

type AnsweredLine = Extract<InboxLine, { readonly type: "approval.answered" }>;

function answerIn({ answer, by, message, inputJson, always }: AnsweredLine): ApprovalAnswer {
  return {
    answer,
    by,
    ...(message === undefined ? {} : { message }),
    ...(inputJson === undefined ? {} : { inputJson }),
    ...(always === undefined ? {} : { always }),
  };
}

function sameOr(before: readonly Rule[], texts: ReadonlySet<string>): readonly Rule[] {
  if (before.length === texts.size && before.every(({ text }) => texts.has(text))) return before;
  return [...texts].map((text) => ({ text, effect: "allow", scope: "session" }));
}

/** Anybody who may write the file can have written it: what would be acted on is looked at. */
function isInboxLine(value: unknown): value is InboxLine {
  if (!isMapping(value) || value["v"] !== 1 || typeof value["at"] !== "number") return false;
  if (!isText(value["requestId"])) return false;
  switch (value["type"]) {
    case "approval.requested":
      return isQuestion(value);
    case "approval.answered":
      return isAnswer(value);
    default:
      return value["type"] === "approval.withdrawn";
  }
}

function isQuestion(value: Mapping): boolean {
  const { call, decision, always, path } = value;
  const hasTexts = ["sessionId", "kind", "agentId", "agentType", "inputHash"].every((key) => isText(value[key]));
  const isCall = isMapping(call) && ["callId", "name", "inputJson"].every((key) => isText(call[key]));
  const isDecision = isMapping(decision) && ["effect", "rule", "scope", "reason"].every((key) => isText(decision[key]));
  return hasTexts && isCall && isDecision && isTexts(always) && isTexts(path);
}

function isAnswer(value: Mapping): boolean {
  const { answer, message, inputJson, always } = value;
  if (answer !== "allow" && answer !== "deny") return false;
  if (!["answerId", "inputHash", "by"].every((key) => isText(value[key]))) return false;
  if (![message, inputJson].every((text) => text === undefined || isText(text))) return false;
  if (always === undefined) return true;
  return isMapping(always) && isText(always["rule"]) && (always["for"] === "session" || always["for"] === "project");
}

type Mapping = Readonly<Record<string, unknown>>;

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}
