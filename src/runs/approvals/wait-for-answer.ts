import { describeError } from "../../lib/index.ts";
import type { Inbox } from "../../ports/index.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../protocol/index.ts";
import { orAbort } from "../or-abort.ts";
import { type ApprovalQueueOptions, type Asking, nobodysAnswer } from "./approval-queue.ts";
import { requestIdOf } from "./question.ts";

interface Waiting extends Asking, Omit<ApprovalQueueOptions, "openInbox"> {
  readonly inbox: Inbox;
}

/** The first answer, by whoever: the program, another process, or a rule that somebody's "always" made meanwhile. */
export async function waitForAnswer(question: ApprovalQuestion, waiting: Waiting): Promise<ApprovalAnswer | undefined> {
  const { inbox, attended, onOpen, keepRule, signal } = waiting;
  const { requestId } = question;
  const known = inbox.answerTo(requestId);
  // A full disk may keep it for long.
  if (known === undefined && attended) await orAbort(inbox.request(question), signal);
  if (signal.aborted) return undefined;
  if (known === undefined) await onOpen();
  const answer = known ?? (attended ? await firstAnswer(question, waiting) : await denyOpen(question, inbox));
  if (answer === undefined || signal.aborted) {
    await inbox.withdraw(requestId, "The run was stopped.");
    return undefined;
  }
  if (answer.answer === "deny") return answer;
  if (question.kind === "call") await allowEdited(question, answer, inbox);
  if (answer.always?.for === "project") await keepRule?.(answer.always.rule);
  return answer;
}

/** One that an earlier process left is not left waiting. */
async function denyOpen({ requestId }: ApprovalQuestion, inbox: Inbox): Promise<ApprovalAnswer> {
  return (await inbox.answer(requestId, nobodysAnswer))?.answer ?? nobodysAnswer;
}

function firstAnswer(
  question: ApprovalQuestion,
  { inbox, program, signal, settledBy }: Waiting,
): Promise<ApprovalAnswer | undefined> {
  const { requestId } = question;
  const over = new AbortController();
  return new Promise<ApprovalAnswer | undefined>((resolve, reject) => {
    const give = (answer: ApprovalAnswer): Promise<void> =>
      inbox.answer(requestId, answer).then((counted) => resolve(counted?.answer ?? nobodysAnswer), reject);
    let rules = inbox.rules();
    const look = async (): Promise<void> => {
      const answer = inbox.answerTo(requestId);
      if (answer !== undefined) return resolve(answer);
      if (inbox.rules() === rules) return;
      rules = inbox.rules();
      const rule = await settledBy();
      if (rule !== undefined) await give({ answer: "allow", by: `the rule ${rule}` });
    };
    const unwatch = inbox.watch(() => void look().catch(reject));
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener("abort", onAbort);
    over.signal.addEventListener("abort", () => {
      unwatch();
      signal.removeEventListener("abort", onAbort);
    });
    if (signal.aborted) return resolve(undefined);
    void look().catch(reject);
    if (program === undefined) return;
    const failed = (error: unknown): ApprovalAnswer => ({
      answer: "deny",
      by: "the program",
      message: `It could not be asked whether this call may be made: ${describeError(error)}`,
    });
    void askProgram(question, { program, signal: over.signal }).catch(failed).then(give);
  }).finally(() => over.abort());
}

async function askProgram(
  question: ApprovalQuestion,
  { program, signal }: { readonly program: NonNullable<ApprovalQueueOptions["program"]>; readonly signal: AbortSignal },
): Promise<ApprovalAnswer> {
  const answer = await program.ask(question, signal);
  if (answer.answer === "allow" || answer.answer === "deny") return answer;
  throw new Error("the answer was neither allow nor deny");
}

/** Who changed the input has allowed what they wrote: if that would have to be asked about too, the answer is there. */
async function allowEdited(question: ApprovalQuestion, answer: ApprovalAnswer, inbox: Inbox): Promise<void> {
  const { inputJson, by } = answer;
  if (inputJson === undefined) return;
  const call = { ...question.call, inputJson };
  const edited = { ...question, ...requestIdOf(question, call), call, always: [] };
  if (inbox.answerTo(edited.requestId) !== undefined) return;
  await inbox.request(edited);
  await inbox.answer(edited.requestId, { answer: "allow", by });
}
