import { isAbsolute, relative } from "node:path";
import { describeError, stripControls } from "../../lib/index.ts";
import { suggestRule } from "../../permissions/index.ts";
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type FileImage,
  NO_APPROVER,
  type Policy,
  type ToolCall,
  type ToolResult,
} from "../../protocol/index.ts";
import { requestIdOf } from "../approvals/approval-queue.ts";
import { askerOf } from "../approvals/question.ts";
import type { RunHost } from "../host/run-host.ts";

/** Rule in questions about files that a command has changed. */
const CHANGED_FILES = "changed protected files";

/**
 * Reports protected files that a command has changed although no rule permits it, and asks the user whether to keep the
 * changes. Nothing is undone unless the user says so. Returns the result with a text that tells the model what became of
 * the changes.
 */
export async function reviewTrespasses(
  host: RunHost,
  { call, result, policy }: { readonly call: ToolCall; readonly result: ToolResult; readonly policy: Policy },
): Promise<ToolResult> {
  const { trespasses = [] } = result.facts ?? {};
  if (trespasses.length === 0) return result;
  const what = describeTrespasses(trespasses, host.services.cwd);
  const answer = await askToKeep(host, { call, policy, trespasses, what });
  const became = await settle(host, trespasses, answer);
  if (answer?.answer !== "allow")
    await host.record([{ type: "notice.raised", code: "protected_files", message: `${what} ${became.forUser}` }]);
  return { ...result, content: [...result.content, { type: "text", text: `[${what} ${became.forModel}]` }] };
}

export function describeTrespasses(trespasses: readonly FileImage[], cwd: string): string {
  // A command can give files any names.
  const names = trespasses.map(({ path }) => stripControls(shownPath(path, cwd)).slice(0, LONGEST_NAME));
  const [are, that] = names.length === 1 ? ["is", "this file"] : ["are", "these files"];
  const more = names.length - MOST_LISTED;
  const listed = `${names.slice(0, MOST_LISTED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return `The command changed ${listed}, which ${are} protected or hold instructions for agents, and no rule permits changing ${that}.`;
}

const MOST_LISTED = 10;
const LONGEST_NAME = 200;

interface Concern {
  readonly call: ToolCall;
  readonly policy: Policy;
  readonly trespasses: readonly FileImage[];
  readonly what: string;
}

/** Returns undefined if no one can answer, or if the run is stopped in the meantime. */
async function askToKeep(
  host: RunHost,
  { call, policy, trespasses, what }: Concern,
): Promise<ApprovalAnswer | undefined> {
  const { services, outlet } = host;
  const { approvals } = services;
  const asker = askerOf(host);
  if (policy.mode === "dontAsk" || policy.unattended || !approvals.canAnswer(asker.background === true))
    return undefined;
  const { callId, name, inputJson } = call;
  const reason = `${what} It has already run. Allow this to keep the changes, or deny it to restore what the files contained before.`;
  const [only, ...others] = trespasses;
  const rule = only && suggestRule("Write", { file_path: shownPath(only.path, services.cwd) });
  const question: ApprovalQuestion = {
    ...requestIdOf(asker, { ...call, callId: `${callId}_files` }),
    ...asker,
    kind: "call",
    call,
    decision: { effect: "ask", rule: CHANGED_FILES, scope: "builtin", reason },
    always: rule === undefined || others.length > 0 ? [] : [rule],
  };
  const { requestId, always } = question;
  const resume = host.pause();
  const answer = await approvals
    .ask(question, {
      signal: outlet.signal,
      onOpen: () => host.record([{ type: "approval.requested", requestId, callId, name, inputJson, reason, always }]),
      settledBy: async () => undefined,
    })
    .finally(resume);
  if (answer === undefined || answer.by === NO_APPROVER) return undefined;
  const { answer: given, by, message, always: kept } = answer;
  await host.record([{ type: "approval.answered", requestId, callId, answer: given, by, message, always: kept }]);
  return answer;
}

interface Outcome {
  readonly forUser: string;
  readonly forModel: string;
}

async function settle(
  { services }: RunHost,
  trespasses: readonly FileImage[],
  answer: ApprovalAnswer | undefined,
): Promise<Outcome> {
  if (answer === undefined)
    return {
      forUser: "Review the changes. They were not undone.",
      forModel: "No one could be asked, so the changes remain. Say in your answer what changed and why.",
    };
  if (answer.answer === "allow") return { forUser: "", forModel: "The user keeps the changes." };
  const failures: string[] = [];
  for (const image of trespasses) {
    const failure = await (services.restoreFile?.(image) ?? Promise.resolve("it can't be restored here")).catch(
      describeError,
    );
    if (failure !== undefined) failures.push(`${shownPath(image.path, services.cwd)} (${failure})`);
  }
  const but = failures.length === 0 ? "" : ` Not restored: ${failures.join(", ")}.`;
  const told = answer.message === undefined ? "" : ` The user says: ${answer.message}`;
  return {
    forUser: `You did not keep the changes. ${failures.length < trespasses.length ? "The earlier content was restored." : ""}${but}`,
    forModel: `The user did not keep the changes${failures.length < trespasses.length ? ", so the earlier content was restored" : ""}.${but}${told} Do not make them again in another way.`,
  };
}

function shownPath(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  return inside.startsWith("..") || isAbsolute(inside) ? path : inside;
}
