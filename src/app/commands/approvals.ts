import { matchPrefix, UserError } from "../../lib/index.ts";
import { checkRules } from "../../permissions/index.ts";
import { type ApprovalAnswer, type ApprovalQuestion, canonicalToolName } from "../../protocol/index.ts";
import { type ListedRequest, listRequests, openInbox, type RequestSearch } from "../../transcript/index.ts";
import { systemClock } from "../system-clock.ts";

export type { ListedRequest };

/** Lists requests that wait for an answer, oldest first. */
export async function listApprovals(search: RequestSearch): Promise<readonly ListedRequest[]> {
  const all = listRequests(search);
  return all.filter(({ status }) => status === "waiting").sort((left, right) => left.askedAt - right.askedAt);
}

export interface AnswerRequest {
  /** State directory. */
  readonly home: string;
  /** Id of the request, or a prefix of it. */
  readonly request: string;
  readonly verb: "allow" | "deny" | "always";
  readonly by: string;
  readonly message?: string | undefined;
  readonly inputJson?: string | undefined;
  /** Rule for `always`, or the specifier of one. */
  readonly pattern?: string | undefined;
  readonly project: boolean;
}

export interface AnsweredRequest {
  readonly request: ListedRequest;
  readonly answer: ApprovalAnswer;
}

/** Answers a request of any process. Throws a `UserError` if the request does not wait for an answer. */
export async function answerApproval(answering: AnswerRequest): Promise<AnsweredRequest> {
  const request = findRequest(answering);
  const { question } = request;
  if (request.answer !== undefined) throw tooLate(question, request.answer);
  if (request.status === "withdrawn") throw problem(`Nobody waits for ${question.requestId} any more`);
  const answer = answerOf(question, answering);
  const inbox = openInbox({ path: request.inboxPath, clock: systemClock });
  const counted = await inbox.answer(question.requestId, answer);
  if (counted === undefined) throw problem(`Nobody waits for ${question.requestId} any more`);
  if (!counted.isOwn) throw tooLate(question, counted.answer);
  return { request, answer };
}

function findRequest({ home, request }: AnswerRequest): ListedRequest {
  const all = listRequests({ home });
  const named = request.startsWith("ask_") ? request : `ask_${request}`;
  const match = matchPrefix(
    all.map(({ question }) => question.requestId),
    named,
  );
  if (match.kind === "many") throw problem(`Several requests begin with "${request}": ${match.ids.join(", ")}`);
  const found = match.kind === "one" && all.find(({ question }) => question.requestId === match.id);
  if (found) return found;
  throw problem(`There is no request "${request}"`);
}

function answerOf(question: ApprovalQuestion, answering: AnswerRequest): ApprovalAnswer {
  const { verb, by, message, inputJson, pattern, project } = answering;
  if (verb === "deny") return { answer: "deny", by, message };
  if (verb === "allow") return { answer: "allow", by, inputJson };
  const rule = ruleFor(question, pattern);
  return { answer: "allow", by, always: { rule, for: project ? "project" : "session" } };
}

function ruleFor({ always: [first], call }: ApprovalQuestion, pattern: string | undefined): string {
  if (pattern === undefined && first === undefined)
    throw problem("No rule covers this call alone", "Answer with allow, or write a rule with --pattern.");
  const tool = first?.replace(/\(.*/s, "") ?? canonicalToolName(call.name);
  const rule = pattern === undefined ? first! : isRule(pattern) ? pattern : `${tool}(${pattern})`;
  const [invalid] = checkRules([{ text: rule, effect: "allow", scope: "session" }]);
  if (invalid) throw problem(invalid.message, "Correct --pattern.");
  return rule;
}

function isRule(text: string): boolean {
  return /^[\w-]+\(.*\)$/s.test(text) || text.startsWith("mcp__");
}

function tooLate({ requestId }: ApprovalQuestion, { answer, by }: ApprovalAnswer): UserError {
  return new UserError(`${requestId} was already answered by ${by}: ${answer}`, {
    code: "approval_answered",
    cure: "The first answer counts.",
  });
}

function problem(message: string, cure = '"retinue approvals list --all" shows what waits.'): UserError {
  return new UserError(message, { code: "approval", cure, exitCode: 2 });
}
