import { type Approvals, readReply, userName } from "../../app/index.ts";
import { approvalText, breakLines, describeRequest, oneLine, showRule } from "../../client/index.ts";
import { isRecord, readExactly, showExactly, UserError } from "../../lib/index.ts";
import {
  type AgentId,
  type ApprovalAnswer,
  type ApprovalQuestion,
  NO_APPROVER,
  type UserQuestion,
  type UserReply,
} from "../../protocol/index.ts";
import type { AgentViews } from "../progress/agent-views.ts";
import type { Progress } from "../progress/progress.ts";
import type { TerminalKeys } from "./terminal-keys.ts";
import { openPrompt, type PromptOutput, type TerminalPrompt } from "./terminal-prompt.ts";

export interface TerminalApprovalsOptions {
  readonly keys: TerminalKeys;
  readonly output: PromptOutput;
  readonly progress: Pick<Progress, "hold" | "release" | "report">;
  readonly agents: Pick<AgentViews, "get">;
}

/**
 * Asks the user about one request at a time on the terminal. Other processes can answer the same requests; the terminal
 * then shows who answered, and asks about the next one.
 */
export function createTerminalApprovals(options: TerminalApprovalsOptions): Approvals {
  const { progress, output, keys } = options;
  const open = new Set<ApprovalQuestion>();
  let prompt: TerminalPrompt | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const ask = async (question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer> => {
    if (signal.aborted) {
      reportOther(question, { signal, report: progress.report });
      return unanswered;
    }
    const more = (): string => (open.size > 1 ? `${open.size - 1} more waiting` : "");
    progress.hold();
    prompt = openPrompt({ keys, output, more });
    try {
      const answer = await askOnTerminal(question, { prompt, signal, agents: options.agents });
      prompt.say(`  ${outcomeText(answer ?? answerIn(signal), answer !== undefined)}`);
      if (answer !== undefined) onOther(question, answer, signal);
      return answer ?? unanswered;
    } finally {
      prompt.close();
      prompt = undefined;
      progress.release();
    }
  };
  /** Reports that another process answered just before this one did. */
  const onOther = (question: ApprovalQuestion, own: ApprovalAnswer, signal: AbortSignal): void => {
    signal.addEventListener("abort", () => {
      const other = answerIn(signal);
      if (other !== undefined && !isSame(other, own)) reportOther(question, { signal, report: progress.report });
    });
  };
  return {
    ask: (question, signal) => {
      const close = (): void => {
        open.delete(question);
        prompt?.redraw();
      };
      open.add(question);
      prompt?.redraw();
      signal.addEventListener("abort", close, { once: true });
      const answer = last.then(() => ask(question, signal)).finally(close);
      last = answer.catch(() => undefined);
      return answer;
    },
  };
}

/** Result for a request that no longer needs an answer. The caller ignores it. */
const unanswered: ApprovalAnswer = { answer: "deny", by: NO_APPROVER };

interface Asking {
  readonly prompt: TerminalPrompt;
  readonly signal: AbortSignal;
  readonly agents: TerminalApprovalsOptions["agents"];
}

/** Returns the user's answer; undefined if the request no longer needs an answer. */
async function askOnTerminal(question: ApprovalQuestion, asking: Asking): Promise<ApprovalAnswer | undefined> {
  const { agents, prompt, signal } = asking;
  const by = userName();
  const { questions } = question;
  const asker = askerText(question, agents);
  if (questions !== undefined) {
    await prompt.show(`retinue: ${asker} has a question (${question.requestId}).\n`);
    return askQuestions({ ...question, questions }, { prompt, signal, by });
  }
  await prompt.show(`retinue: ${asker} asks for approval (${question.requestId}).\n${requestText(question)}`);
  return askAboutCall(question, { prompt, signal, by });
}

/** Returns the name of the agent that is asking, with the agents above it: `main › general-purpose (a1b2c3d4e5f6)`. */
function askerText({ path, agentId, agentType }: ApprovalQuestion, agents: Asking["agents"]): string {
  const nameOf = (id: AgentId): string => {
    const type = id === agentId ? agentType : agents.get(id)?.agentType;
    return type === undefined ? id : `${type} (${id})`;
  };
  const names = path.length === 0 ? [agentType] : ["main", ...path.map(nameOf)];
  return names.map(showExactly).join(" › ");
}

/** Returns the whole call as it will run, and why it needs approval. */
function requestText(question: ApprovalQuestion): string {
  const { call, details } = describeRequest(question);
  const { rule, scope, reason } = question.decision;
  // A built-in rule is not shown, because the reason says what it checks.
  const isNamed = scope === "builtin" || reason.includes(rule);
  const because = isNamed ? [] : [`rule: ${showExactly(rule)} (${scope})`];
  return [call, ...details, ...because].map((line) => `  ${breakLines(line)}\n`).join("");
}

interface Answering {
  readonly prompt: TerminalPrompt;
  readonly signal: AbortSignal;
  readonly by: string;
}

async function askAboutCall(question: ApprovalQuestion, answering: Answering): Promise<ApprovalAnswer | undefined> {
  const { prompt, signal, by } = answering;
  const { kind, always } = question;
  let { inputJson } = question.call;
  const edited = (): Pick<ApprovalAnswer, "inputJson"> => (inputJson === question.call.inputJson ? {} : { inputJson });
  for (;;) {
    const { main } = approvalText({ ...question.call, inputJson });
    // The description of a Task call can't be edited, because it has no effect on what the agent does.
    const editable = kind === "call" && main?.field !== "description" ? main : undefined;
    const hasRules = always.length > 0 && edited().inputJson === undefined;
    const keys = { y: "once", n: "no", ...(hasRules && { a: "always" }), ...(editable && { e: "edit" }) };
    const key = await prompt.key(keys, signal);
    if (key === undefined) return undefined;
    if (key === "y") return { answer: "allow", by, ...edited() };
    if (key === "n") {
      const words = await prompt.line({ label: "  Why? (Enter: no message, Esc: back) " }, signal);
      if (words !== undefined) return { answer: "deny", by, message: readExactly(words).trim() || undefined };
    }
    if (key === "a") {
      const rule = await chooseRule(always, answering);
      if (rule !== undefined) return { answer: "allow", by, always: rule };
    }
    if (key === "e" && editable !== undefined) {
      const line = await prompt.line({ label: "  › ", text: showExactly(editable.value) }, signal);
      if (line !== undefined && line !== "") {
        const value = readExactly(line);
        inputJson = withField(inputJson, editable.field, value);
        // If the new value would be displayed differently from what the user typed, the user must confirm it.
        if (showExactly(value) === line) return { answer: "allow", by, ...edited() };
        await prompt.show(requestText({ ...question, call: { ...question.call, inputJson } }));
      }
    }
    if (signal.aborted) return undefined;
  }
}

function withField(inputJson: string, field: string, value: string): string {
  const input: unknown = JSON.parse(inputJson);
  if (isRecord(input) && input[field] === value) return inputJson;
  return JSON.stringify({ ...(isRecord(input) ? input : {}), [field]: value });
}

/** Lets the user choose a rule and how long it applies. Returns undefined if the user goes back. */
async function chooseRule(
  rules: readonly string[],
  { prompt, signal }: Answering,
): Promise<ApprovalAnswer["always"] | undefined> {
  let rule = rules[0] ?? "";
  if (rules.length > 1) {
    await prompt.show(rules.map((each, index) => `  ${index + 1}. ${breakLines(showRule(each))}\n`).join(""));
    const numbers = Object.fromEntries(rules.map((_, index) => [String(index + 1), ""]));
    const number = await prompt.key({ ...numbers, "\u001b": "Esc: back" }, signal);
    const chosen = rules[Number(number) - 1];
    if (chosen === undefined) return undefined;
    rule = chosen;
  }
  await prompt.show(`  Rule to add: ${breakLines(showRule(rule))}\n`);
  const key = await prompt.key({ s: "for this session", p: "for this project, saved", "\u001b": "Esc: back" }, signal);
  if (key !== "s" && key !== "p") return undefined;
  return { rule, for: key === "s" ? "session" : "project" };
}

interface AskedQuestions extends ApprovalQuestion {
  readonly questions: readonly UserQuestion[];
}

/** Asks the agent's questions one after the other. A question without an answer is left to the agent. */
async function askQuestions(
  question: AskedQuestions,
  { prompt, signal, by }: Answering,
): Promise<ApprovalAnswer | undefined> {
  const { choices } = describeRequest(question);
  const replies: (readonly string[])[] = [];
  for (const [index, each] of question.questions.entries()) {
    const reply = await askOne(each, choices[index] ?? [], { prompt, signal, by });
    if (reply === undefined) return undefined;
    replies.push(reply);
  }
  return replies.every((reply) => reply.length === 0) ? { answer: "deny", by } : { answer: "allow", by, replies };
}

/** Asks a question until the reply is valid. Returns undefined if the question no longer needs a reply. */
async function askOne(
  question: UserQuestion,
  choices: readonly string[],
  { prompt, signal }: Answering,
): Promise<UserReply | undefined> {
  const numbers = question.multiSelect ? "Numbers (1,3)" : "Number";
  let problem: readonly string[] = [];
  for (;;) {
    await prompt.show([...problem, ...choices].map((line) => `  ${breakLines(line)}\n`).join(""));
    const line = await prompt.line({ label: `  ${numbers} or text (Enter: the agent decides): ` }, signal);
    if (signal.aborted) return undefined;
    const text = readExactly(line ?? "").trim();
    if (text === "") return [];
    try {
      return readReply(question, text);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problem = [oneLine(`${error.message}. ${error.fix}`)];
    }
  }
}

/** Returns the answer that ended a request; undefined if the request was withdrawn. */
function answerIn({ aborted, reason }: AbortSignal): ApprovalAnswer | undefined {
  return aborted && isRecord(reason) && "answer" in reason ? (reason as unknown as ApprovalAnswer) : undefined;
}

function isSame(left: ApprovalAnswer, right: ApprovalAnswer): boolean {
  return left.answer === right.answer && left.by === right.by;
}

function outcomeText(answer: ApprovalAnswer | undefined, isOwn: boolean): string {
  if (answer === undefined) return "Withdrawn: the run was stopped.";
  const { answer: verdict, always, replies, inputJson } = answer;
  const what =
    replies !== undefined
      ? "Answered"
      : verdict === "deny"
        ? "Denied"
        : `Allowed${inputJson === undefined ? "" : " as edited"}`;
  const rule = always === undefined ? "" : ` From now on, ${showRule(always.rule)} is allowed.`;
  return `${what}${isOwn ? "" : ` by ${showExactly(answer.by)}`}.${rule}`;
}

function reportOther(
  { call }: ApprovalQuestion,
  { signal, report }: { readonly signal: AbortSignal; readonly report: (notice: string) => void },
): void {
  const answer = answerIn(signal);
  if (answer !== undefined) report(`${approvalText(call).call}: ${outcomeText(answer, false)}`);
}
