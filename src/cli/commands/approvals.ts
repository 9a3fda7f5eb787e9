import type { AnswerRequest, UserQuestion } from "../../app/index.ts";
import { approvalText, breakLines, describeRequest, oneLine, showRule } from "../../client/index.ts";
import { formatDuration, showExactly, stripControls } from "../../lib/index.ts";
import type { SessionId } from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { chooseHost, listedDirectory } from "../host/choose-host.ts";
import { type SessionHost, serverOption, type WaitingRequest } from "../host/session-host.ts";
import { createOutput, messageLines } from "../output.ts";
import {
  directoryOption,
  type HelpRequest,
  helpOption,
  type ReadOptions,
  readVerb,
  refusePositionals,
  usageError,
} from "../read-options.ts";
import { resumeCommand } from "../resume-command.ts";

/** Runs `retinue approvals list|answer|reply`. */
export async function approvals(argv: readonly string[]): Promise<number> {
  const command = parseApprovals(argv);
  if (command.kind === "help") return printHelp(command.topic);
  const host = await chooseHost(command.server);
  const { write } = createOutput(process.stdout);
  await write(command.kind === "list" ? await list(command, host) : await answer(command, host));
  const unlisted = command.kind === "list" && command.session === undefined ? host.unlisted("requests") : undefined;
  if (unlisted !== undefined) await createOutput(process.stderr).write(messageLines([unlisted]));
  return exitCodes.succeeded;
}

interface ListCommand {
  readonly kind: "list";
  readonly json: boolean;
  readonly all: boolean;
  readonly session: string | undefined;
  readonly cwd: string | undefined;
  readonly server: string | undefined;
}

interface AnswerCommand extends Omit<AnswerRequest, "home" | "by"> {
  readonly kind: "answer";
  readonly json: boolean;
  readonly server: string | undefined;
}

const verbs = {
  list: { session: { value: "ID" }, all: {}, cwd: directoryOption, json: {}, server: serverOption, help: helpOption },
  answer: {
    pattern: { value: "PATTERN" },
    project: {},
    message: { value: "TEXT" },
    input: { value: "JSON" },
    json: {},
    server: serverOption,
    help: helpOption,
  },
  reply: { json: {}, server: serverOption, help: helpOption },
};

export function parseApprovals(argv: readonly string[]): ListCommand | AnswerCommand | HelpRequest {
  const read = readVerb("approvals", argv, { verbs });
  if ("kind" in read) return read;
  const { verb, options } = read;
  if (verb === "reply") return parseReply(options);
  return verb === "answer" ? parseAnswer(options) : parseList(options);
}

function parseList(options: ReadOptions): ListCommand {
  refusePositionals(options, "approvals list", "To choose a session or a directory, use --session or --cwd.");
  return {
    kind: "list",
    json: options.has("json"),
    all: options.has("all"),
    session: options.value("session"),
    cwd: options.value("cwd"),
    server: options.value("server"),
  };
}

const answers = ["allow", "deny", "always"] as const;
/** Answers that each option can be used with. */
const answersByOption = { message: ["deny"], input: ["allow"], pattern: ["always"], project: ["always"] } as const;

function parseAnswer(options: ReadOptions): AnswerCommand {
  const [request, answer, ...more] = options.positionals;
  const usage = "Usage: retinue approvals answer REQUEST allow|deny|always.";
  if (request === undefined) throw usageError('"approvals answer" needs a request', usage);
  const verb = answers.find((each) => each === answer);
  if (verb === undefined || more.length > 0) throw usageError(`The answer must be one of ${answers.join(", ")}`, usage);
  for (const [name, verbsOf] of Object.entries(answersByOption)) {
    if (options.has(name) && !(verbsOf as readonly string[]).includes(verb))
      throw usageError(`--${name} can only be used with "${verbsOf[0]}"`, `Leave it out, or answer ${verbsOf[0]}.`);
  }
  const inputJson = options.value("input");
  if (inputJson !== undefined && !isObject(inputJson))
    throw usageError("--input is not a JSON object", `Pass the whole input: --input '{"command": "npm test"}'.`);
  return {
    kind: "answer",
    request,
    verb,
    project: options.has("project"),
    json: options.has("json"),
    message: options.value("message"),
    pattern: options.value("pattern"),
    inputJson,
    server: options.value("server"),
  };
}

function parseReply(options: ReadOptions): AnswerCommand {
  const [request, ...replies] = options.positionals;
  if (request === undefined || replies.length === 0)
    throw usageError(
      '"approvals reply" needs a request and an answer to each question',
      'Usage: retinue approvals reply REQUEST ANSWER. An answer is the number of an option, or text: "Use pnpm".',
    );
  const given = { request, verb: "reply", replies, project: false } as const;
  return { kind: "answer", ...given, json: options.has("json"), server: options.value("server") };
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

async function list({ json, all, session, cwd, server }: ListCommand, host: SessionHost): Promise<string> {
  const inDirectory = { cwd: listedDirectory({ all, cwd, server }) };
  const waiting = await host.approvals(
    session === undefined ? inDirectory : { sessionId: (await host.find(session)).id },
  );
  if (json) return `${JSON.stringify(waiting.map(asJson), null, 2)}\n`;
  if (waiting.length === 0) return "No requests are waiting for approval.\n";
  const now = Date.now();
  return waiting.map((request) => render(request, { now, option: host.option })).join("\n");
}

function asJson({ question, askedAt, isRunning }: WaitingRequest) {
  return { ...question, askedAt, isRunning };
}

interface Rendering {
  readonly now: number;
  /** Option to append to the suggested answer commands. */
  readonly option: string;
}

function render({ question, askedAt, isRunning }: WaitingRequest, { now, option }: Rendering): string {
  const { requestId, always, agentType, agentId, sessionId, path, questions = [] } = question;
  const { call, details, choices } = describeRequest(question);
  const asker = path.length === 0 ? agentType : `${agentType} (${agentId})`;
  const age = formatDuration(Math.max(0, now - askedAt));
  const state = isRunning ? "" : ", which is not running: the answer takes effect when it is resumed";
  const lines = [
    `${flat(requestId)}  ${call}`,
    ...details.map((line) => `  ${line}`),
    `  asked ${age} ago by ${showExactly(asker)} in session ${sessionId}${state}`,
    ...(always.length > 0 ? [`  always: ${always.map(showRule).join(" or ")}`] : []),
    ...choices.flat().map((line) => `  ${line}`),
    ...(questions.length > 0
      ? [`  answer: retinue approvals reply ${requestId} ${replyTemplate(questions)}${option}`]
      : []),
  ];
  return lines.map((line) => `${breakLines(line)}\n`).join("");
}

/** Converts text to one line. */
function flat(text: string): string {
  return stripControls(text.replace(/[\n\r\u2028\u2029]+/g, " "));
}

/** Returns the format of the expected answers: `NUMBER|TEXT NUMBERS|TEXT`. */
function replyTemplate(questions: readonly UserQuestion[]): string {
  return questions.map(({ multiSelect }) => (multiSelect ? "NUMBERS|TEXT" : "NUMBER|TEXT")).join(" ");
}

/** Returns the command that resumes a session, which may ask for further approvals. */
async function resumption(host: SessionHost, sessionId: SessionId): Promise<string> {
  return resumeCommand({ host, session: await host.find(sessionId), isAsking: true });
}

async function answer(command: AnswerCommand, host: SessionHost): Promise<string> {
  const { json, kind: _kind, server: _server, ...request } = command;
  const { request: answered, answer: given } = await host.answer(request);
  const { question, isRunning } = answered;
  if (json) return `${JSON.stringify({ requestId: question.requestId, ...given, isRunning }, null, 2)}\n`;
  const { call, requestId, sessionId } = question;
  const about = approvalText(call).call;
  const rule = given.always ? ` From now on, ${showRule(given.always.rule)} is allowed.` : "";
  const later = isRunning ? "" : ` It takes effect when the session is resumed: ${await resumption(host, sessionId)}`;
  if (given.replies !== undefined) {
    const texts = given.replies.map((reply) => oneLine(reply.join(", ")));
    return `${flat(`${requestId} answered: ${texts.join("; ")}.${later}`)}\n`;
  }
  return `${requestId} ${given.answer === "allow" ? "allowed" : "denied"}: ${about}.${rule}${later}\n`;
}
