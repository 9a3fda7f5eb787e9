import { userInfo } from "node:os";
import { judgeCall } from "../../executor/index.ts";
import { homeDirectory, isRecord, matchId, plural, showExactly, UserError } from "../../lib/index.ts";
import { checkRules } from "../../permissions/index.ts";
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  canonicalToolName,
  type ToolCall,
  type UserQuestion,
  type UserReply,
} from "../../protocol/index.ts";
import {
  findSession,
  type ListedRequest,
  listRequests,
  openInbox,
  type RequestSearch,
} from "../../transcript/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { systemClock } from "../system-clock.ts";
import { checkAnswerer } from "./check-answerer.ts";

export type { ListedRequest };

/** Lists the requests that are waiting for an answer, oldest first. */
export async function listApprovals(search: RequestSearch): Promise<readonly ListedRequest[]> {
  return waitingRequests(search);
}

/** Like `listApprovals`, but synchronous. */
export function waitingRequests(search: RequestSearch): readonly ListedRequest[] {
  const all = listRequests(search);
  return all.filter(({ status }) => status === "waiting").sort((left, right) => left.askedAt - right.askedAt);
}

export interface AnswerRequest {
  /** State directory. */
  readonly home: string;
  /** The request's id, or a prefix or suffix of it, with or without `ask_`. */
  readonly request: string;
  readonly verb: "allow" | "deny" | "always" | "reply";
  readonly by: string;
  readonly message?: string | undefined;
  readonly inputJson?: string | undefined;
  /** Rule for `always`, or only the rule's specifier. */
  readonly pattern?: string | undefined;
  readonly project: boolean;
  /** Answers for `reply`, one for each question: numbers or labels of options, or free text. */
  readonly replies?: readonly string[] | undefined;
}

export interface AnsweredRequest {
  readonly request: ListedRequest;
  readonly answer: ApprovalAnswer;
}

/**
 * Answers a request from any process. Throws a `UserError` if the request is not waiting for an answer, or if this
 * process may be a command run by an agent.
 */
export async function answerApproval(answering: AnswerRequest): Promise<AnsweredRequest> {
  const { home } = answering;
  const request = matchRequest(listRequests({ home }), answering.request);
  const { question } = request;
  if (request.answer !== undefined) throw tooLate(question, request.answer);
  if (request.status === "withdrawn") throw noLongerOpen(question);
  checkAnswerer(request.process);
  const found = findSession({ home, id: question.sessionId });
  const answer = await answerFor(question, { ...answering, cwd: found.kind === "one" ? found.session.cwd : undefined });
  await giveAnswer(request, answer);
  return { request, answer };
}

/** Says who answered a request, or that it was withdrawn. Returns undefined if the request is unknown. */
export function settledAnswer(search: RequestSearch, requestId: string): string | undefined {
  const request = listRequests(search).find(({ question }) => question.requestId === requestId);
  if (request === undefined) return undefined;
  const { question, answer } = request;
  return answer === undefined
    ? `The request ${requestId} is no longer open.`
    : `${tooLate(question, answer).message}. Only the first answer is used.`;
}

/**
 * Answers a request. Throws a `UserError` if the request is not waiting for an answer. The caller must make sure that
 * the answer comes from a person or from a program that may answer.
 */
export async function giveAnswer({ question, inboxPath }: ListedRequest, answer: ApprovalAnswer): Promise<void> {
  const counted = await openInbox({ path: inboxPath, clock: systemClock }).answer(question.requestId, answer);
  if (counted === undefined) throw noLongerOpen(question);
  if (!counted.isOwn) throw tooLate(question, counted.answer);
}

/**
 * Finds a request by its id or part of its id. Searches the open requests first. Throws a `UserError` that lists the
 * candidates unless exactly one matches.
 */
export function matchRequest<Request extends Pick<ListedRequest, "question"> & { readonly status?: string }>(
  all: readonly Request[],
  request: string,
  fix?: string | undefined,
): Request {
  const waiting = all.filter(({ status = "waiting" }) => status === "waiting");
  for (const requests of [waiting, all]) {
    const match = findRequest(requests, request);
    if (match.kind === "many")
      throw problem(`"${request}" matches several requests: ${listed(match.ids)}`, "Use a longer part of the id.");
    const found = match.kind === "one" && requests.find(({ question }) => shortId(question.requestId) === match.id);
    if (found) return found;
  }
  const ids = waiting.map(({ question }) => shortId(question.requestId));
  const open = ids.length === 0 ? "No request is waiting for an answer." : `Waiting for an answer: ${listed(ids)}.`;
  throw problem(`There is no request "${request}"`, fix === undefined ? open : `${open} ${fix}`);
}

/** Maximum number of requests that a message lists. */
const MAX_LISTED = 8;

function listed(ids: readonly string[]): string {
  const more = ids.length - MAX_LISTED;
  const shown = ids.slice(0, MAX_LISTED).map((id) => `ask_${id}`);
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Finds a request by its id or a part of its id. */
export function findRequest(
  all: readonly Pick<ListedRequest, "question">[],
  request: string,
): ReturnType<typeof matchId> {
  return matchId(
    all.map(({ question }) => shortId(question.requestId)),
    shortId(request),
  );
}

function shortId(requestId: string): string {
  return requestId.replace(/^ask_/, "");
}

/** Converts what the user wrote to an answer. Throws a `UserError` if it does not answer the request. */
export async function answerFor(question: ApprovalQuestion, answering: Answering): Promise<ApprovalAnswer> {
  const { verb, by, message, inputJson, pattern, project, replies = [], cwd } = answering;
  if (verb === "deny") return { answer: "deny", by, message };
  const { requestId, questions } = question;
  if (verb === "reply") {
    if (questions === undefined) throw problem(`${requestId} is not a question`, "Answer with allow, deny or always.");
    return { answer: "allow", by, replies: readReplies(questions, replies) };
  }
  if (questions !== undefined)
    throw problem(`${requestId} is a question`, `Answer it with "retinue approvals reply ${requestId} ANSWER...".`);
  if (verb === "allow") return { answer: "allow", by, inputJson };
  const rule = ruleFor(question, pattern);
  if (pattern !== undefined) await checkMatch(rule, question, cwd);
  return { answer: "allow", by, always: { rule, for: project ? "project" : "session" } };
}

interface Answering extends Omit<AnswerRequest, "home"> {
  /** The session's directory. */
  readonly cwd: string | undefined;
}

/** Throws a `UserError` if a rule would not allow the requested call. */
async function checkMatch(rule: string, { call, always, requestId }: ApprovalQuestion, cwd = "/"): Promise<void> {
  const tool = canonicalToolName(call.name);
  const [exact] = always;
  const isAllowedBy = (text: string): Promise<boolean> => isAllowed(call, { rule: text, tool, cwd });
  // The rule can't be tested here if the call's files are on another machine, or if another rule decides on the call.
  if ((await isAllowedBy(rule)) || !(await isAllowedBy(exact ?? tool))) return;
  const fix = exact === undefined ? "Answer with allow." : `\`${always.join("` or `")}\` does.`;
  const asked = showExactly(`${tool} ${commandOf(call) ?? call.inputJson}`);
  throw problem(`The rule \`${rule}\` does not allow the call that ${requestId} asks about: ${asked}`, fix);
}

function commandOf({ inputJson }: ToolCall): string | undefined {
  const input: unknown = JSON.parse(inputJson);
  return isRecord(input) && typeof input["command"] === "string" ? input["command"] : undefined;
}

async function isAllowed(
  { inputJson }: ToolCall,
  { rule, tool, cwd }: { readonly rule: string; readonly tool: string; readonly cwd: string },
): Promise<boolean> {
  const home = homeDirectory();
  const rules = [{ text: rule, effect: "allow", scope: "session" }] as const;
  const policy = { mode: "default", pool: [tool], rules, workspaceRoots: [cwd], readableRoots: [] } as const;
  try {
    const workspace = createLocalWorkspace({ root: cwd, environment: process.env, home });
    const request = { toolName: tool, input: JSON.parse(inputJson), policy };
    const { decision } = await judgeCall(request, { workspace, homes: [home] });
    return decision.effect === "allow" && decision.rule === rule;
  } catch {
    return false;
  }
}

function readReplies(questions: readonly UserQuestion[], replies: readonly string[]): readonly UserReply[] {
  if (replies.length !== questions.length) {
    throw problem(
      `The agent asked ${plural(questions.length, "question")}, but got ${plural(replies.length, "answer")}`,
      "Give one answer for each question, in the same order.",
    );
  }
  return questions.map((question, index) => readReply(question, (replies[index] ?? "").trim()));
}

/**
 * Parses a reply: the number or label of an option, several of them separated by commas if the question allows more
 * than one, or free text. Throws a `UserError` if the reply is empty or consists of invalid option numbers.
 */
export function readReply({ question, options, multiSelect }: UserQuestion, text: string): UserReply {
  if (text === "") throw problem(`The answer to "${question}" is empty`, "Choose an option, or write your own answer.");
  const optionFor = (part: string): string | undefined =>
    (
      options.find(({ label }) => label.toLowerCase() === part.toLowerCase()) ??
      (isNumber(part) ? options[Number(part) - 1] : undefined)
    )?.label;
  const whole = optionFor(text);
  if (whole !== undefined) return [whole];
  const parts = text.split(",").map((part) => part.trim());
  const chosen = parts.map(optionFor);
  if (multiSelect && chosen.every((label) => label !== undefined)) return [...new Set(chosen)];
  const hasNumber = parts.some(isNumber);
  if (!hasNumber || !parts.every((part, index) => isNumber(part) || chosen[index] !== undefined)) return [text];
  const numbers = multiSelect ? "numbers" : "a number";
  const list = multiSelect ? ", separated by commas," : ",";
  throw problem(
    `"${text}" is not an option for the question "${question}"`,
    `Use ${numbers} from 1 to ${options.length}${list} or answer in your own words.`,
  );
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

function ruleFor({ always: [first], call }: ApprovalQuestion, pattern: string | undefined): string {
  if (pattern === undefined && first === undefined)
    throw problem("No rule covers only this call", "Answer with allow, or write a rule with --pattern.");
  const tool = first?.replace(/\(.*/s, "") ?? canonicalToolName(call.name);
  const rule = pattern === undefined ? first! : isRule(pattern) ? pattern : `${tool}(${pattern})`;
  const [invalid] = checkRules([{ text: rule, effect: "allow", scope: "session" }]);
  if (invalid) throw problem(invalid.message, "Correct --pattern.");
  return rule;
}

function isRule(text: string): boolean {
  return /^[\w-]+\(.*\)$/s.test(text) || text.startsWith("mcp__");
}

/** Returns the user name to record with an answer. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "a person";
  }
}

function tooLate({ requestId }: ApprovalQuestion, { answer, by }: ApprovalAnswer): UserError {
  return new UserError(`${requestId} was already answered by ${by}: ${answer}`, {
    code: "approval_answered",
    fix: "Only the first answer is used.",
  });
}

function noLongerOpen({ requestId }: ApprovalQuestion): UserError {
  return new UserError(`The request ${requestId} is no longer open`, { code: "approval", fix: OPEN_REQUESTS });
}

const OPEN_REQUESTS = '"retinue approvals list --all" shows the open requests.';

function problem(message: string, fix = OPEN_REQUESTS): UserError {
  return new UserError(message, { code: "approval", fix, exitCode: 2 });
}
