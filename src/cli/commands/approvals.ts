import { userInfo } from "node:os";
import { approvalCommands, type ListedRequest, stateDirectory, UserError } from "../../app/index.ts";
import { formatDuration, stripControls } from "../../lib/index.ts";
import type { Command } from "../command.ts";
import { describeCall, oneLine } from "../describe-call.ts";
import { exitCodes } from "../exit-codes.ts";
import { sessionByPrefix } from "../find-session.ts";
import { createOutput } from "../output.ts";
import { realDirectory } from "../real-directory.ts";

type ApprovalsCommand = Extract<Command, { kind: `approvals.${string}` }>;

/** `retinue approvals list|answer`. */
export async function approvals(command: ApprovalsCommand): Promise<number> {
  const home = stateDirectory(process.env);
  const { write } = createOutput(process.stdout, () => undefined);
  await write(command.kind === "approvals.list" ? await list(command, home) : await answer(command, home));
  return exitCodes.succeeded;
}

async function list(
  { json, all, session, cwd }: Extract<Command, { kind: "approvals.list" }>,
  home: string,
): Promise<string> {
  const { listApprovals } = await approvalCommands();
  const where =
    session !== undefined
      ? { sessionId: sessionByPrefix({ home, prefix: session }).id }
      : all
        ? {}
        : { cwd: realDirectory(cwd ?? ".") };
  const waiting = await listApprovals({ home, ...where });
  if (json) return `${JSON.stringify(waiting.map(asJson), null, 2)}\n`;
  if (waiting.length === 0) return "Nothing waits for an answer.\n";
  const now = Date.now();
  return waiting.map((request) => render(request, now)).join("\n");
}

function asJson({ question, askedAt, isRunning }: ListedRequest) {
  return { ...question, askedAt, isRunning };
}

function render({ question, askedAt, isRunning }: ListedRequest, now: number): string {
  const { requestId, call, decision, always, agentType, agentId, sessionId, path, grants = [] } = question;
  const about = describeCall(call.inputJson) || oneLine(call.inputJson).slice(0, 200);
  const who = path.length === 0 ? agentType : `${agentType} (${agentId})`;
  const age = formatDuration(Math.max(0, now - askedAt));
  const state = isRunning ? "" : ", which does not run: the answer counts when it goes on";
  const lines = [
    `${requestId}  ${call.name} ${about}`,
    `  ${decision.reason}`,
    `  asked ${age} ago by ${who} in session ${sessionId}${state}`,
    ...(grants.length > 0 ? [`  allows the agent: ${grants.join(", ")}`] : []),
    ...(always.length > 0 ? [`  always: ${always.join(" or ")}`] : []),
  ];
  return lines.map((line) => `${stripControls(line)}\n`).join("");
}

async function answer(
  { json, kind: _, ...wish }: Extract<Command, { kind: "approvals.answer" }>,
  home: string,
): Promise<string> {
  // What an agent runs can't say yes to itself.
  if (process.env["RETINUE_CALL_ID"] !== undefined)
    throw new UserError("A command of an agent can't answer for a person", {
      code: "approval",
      cure: "Answer in a terminal of your own.",
    });
  const { answerApproval } = await approvalCommands();
  const { request, answer: given } = await answerApproval({ ...wish, home, by: userName() });
  const { question, isRunning } = request;
  if (json) return `${JSON.stringify({ requestId: question.requestId, ...given, isRunning }, null, 2)}\n`;
  const { call, requestId, sessionId } = question;
  const about = `${call.name} ${describeCall(call.inputJson)}`.trim();
  const rule = given.always ? ` From now on ${given.always.rule} is allowed.` : "";
  const later = isRunning ? "" : ` It counts when the session goes on: retinue -p --resume ${sessionId}`;
  return `${stripControls(`${requestId} ${given.answer === "allow" ? "allowed" : "denied"}: ${about}.${rule}${later}`)}\n`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "a person";
  }
}
