import { createHash } from "node:crypto";
import { describeError } from "../../lib/index.ts";
import type { Approvals, Inbox } from "../../ports/index.ts";
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  NO_APPROVER,
  type Policy,
  type Rule,
  type ToolCall,
} from "../../protocol/index.ts";
import { orAbort } from "../or-abort.ts";

/** Queue of tool calls that wait for approval. */
export interface ApprovalQueue {
  /** Someone may answer: a user, a program or another process. */
  readonly attended: boolean;
  /** Returns whether someone can answer a question of an agent that works in the background, or in the foreground. */
  canAnswer(background: boolean): boolean;
  /** Adds the rules that were allowed for this session. Returns the same object for a policy until rules are added. */
  policyFor(policy: Policy): Policy;
  /** Returns undefined if the signal fires first. Failures of the program or of another process never reject it. */
  ask(question: ApprovalQuestion, options: AskOptions): Promise<ApprovalAnswer | undefined>;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  /** Called once, before the question is shown. Not called if it was answered before. */
  readonly onOpen: () => Promise<void>;
  /** Returns the rule that allows the call by now, if there is one. */
  readonly settledBy: () => Promise<string | undefined>;
}

export interface ApprovalQueueOptions {
  /** False: questions are denied unless an earlier process has an answer. */
  readonly attended: boolean;
  /** Denies questions of background agents. */
  readonly deniesBackground?: boolean;
  readonly program?: Approvals | undefined;
  readonly openInbox: () => Promise<Inbox>;
  /** Saves a rule for later sessions in this directory. */
  readonly keepRule?: ((rule: string) => Promise<void>) | undefined;
}

export interface SessionApprovals extends ApprovalQueue {
  /** Loads the questions and answers of earlier processes. */
  load(): Promise<void>;
  /** Withdraws the open questions. */
  close(): Promise<void>;
}

const unattended: ApprovalAnswer = { answer: "deny", by: NO_APPROVER };

/** Creates the approval queue of a session. The inbox is opened when the first question is asked. */
export function createApprovalQueue(options: ApprovalQueueOptions): SessionApprovals {
  let inbox: Inbox | undefined;
  let opening: Promise<Inbox> | undefined;
  const open = async (): Promise<Inbox> => {
    opening ??= options.openInbox();
    inbox = await opening;
    return inbox;
  };
  const canAnswer = (background: boolean): boolean => options.attended && !(background && options.deniesBackground);
  return {
    attended: options.attended,
    canAnswer,
    policyFor: addingRules(() => inbox?.rules() ?? []),
    ask: async (question, askOptions) => {
      const attended = canAnswer(question.background === true);
      if (!attended && opening === undefined) {
        await askOptions.onOpen();
        return unattended;
      }
      return waitForAnswer(question, { ...askOptions, ...options, attended, inbox: await open() });
    },
    load: async () => void (await open()),
    close: async () => {
      const left = (await opening)?.open() ?? [];
      for (const { requestId } of left) await inbox?.withdraw(requestId, "The session was closed.");
    },
  };
}

/** Policies are compiled once for each object, so the same rules must give the same object. */
function addingRules(rules: () => readonly Rule[]): (policy: Policy) => Policy {
  let known: readonly Rule[] = [];
  let extended = new WeakMap<Policy, Policy>();
  return (policy) => {
    const added = rules();
    if (added.length === 0) return policy;
    if (added !== known) extended = new WeakMap();
    known = added;
    const before = extended.get(policy);
    if (before !== undefined) return before;
    const fresh = { ...policy, rules: [...policy.rules, ...added] };
    extended.set(policy, fresh);
    return fresh;
  };
}

interface WaitOptions extends AskOptions, Omit<ApprovalQueueOptions, "openInbox"> {
  readonly inbox: Inbox;
}

/** Returns the first answer: of the program, of another process, or of a rule that an "always" answer added meanwhile. */
async function waitForAnswer(question: ApprovalQuestion, options: WaitOptions): Promise<ApprovalAnswer | undefined> {
  const { inbox, attended, onOpen, keepRule, signal } = options;
  const { requestId } = question;
  const known = inbox.answerTo(requestId);
  // This can take a long time if the disk is full.
  if (known === undefined && attended) await orAbort(inbox.request(question), signal);
  if (signal.aborted) return undefined;
  if (known === undefined) await onOpen();
  const answer = known ?? (attended ? await firstAnswer(question, options) : await denyOpen(question, inbox));
  if (answer === undefined || signal.aborted) {
    await inbox.withdraw(requestId, "The run was stopped.");
    return undefined;
  }
  if (answer.answer === "deny") return answer;
  if (question.kind === "call") await allowEdited(question, answer, inbox);
  if (answer.always?.for === "project") await keepRule?.(answer.always.rule);
  return answer;
}

/** Denies a question that an earlier process left open. */
async function denyOpen({ requestId }: ApprovalQuestion, inbox: Inbox): Promise<ApprovalAnswer> {
  return (await inbox.answer(requestId, unattended))?.answer ?? unattended;
}

function firstAnswer(
  question: ApprovalQuestion,
  { inbox, program, signal, settledBy }: WaitOptions,
): Promise<ApprovalAnswer | undefined> {
  const { requestId } = question;
  const done = new AbortController();
  return new Promise<ApprovalAnswer | undefined>((resolve, reject) => {
    const submit = (answer: ApprovalAnswer): Promise<void> =>
      inbox.answer(requestId, answer).then((counted) => resolve(counted?.answer ?? unattended), reject);
    let rules = inbox.rules();
    const checkInbox = async (): Promise<void> => {
      const answer = inbox.answerTo(requestId);
      if (answer !== undefined) return resolve(answer);
      if (inbox.rules() === rules) return;
      rules = inbox.rules();
      const rule = await settledBy();
      if (rule !== undefined) await submit({ answer: "allow", by: `the rule ${rule}` });
    };
    const unwatch = inbox.watch(() => void checkInbox().catch(reject));
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener("abort", onAbort);
    done.signal.addEventListener("abort", () => {
      unwatch();
      signal.removeEventListener("abort", onAbort);
    });
    if (signal.aborted) return resolve(undefined);
    void checkInbox().catch(reject);
    if (program === undefined) return;
    const failed = (error: unknown): ApprovalAnswer => ({
      answer: "deny",
      by: "the program",
      message: `Approval could not be requested: ${describeError(error)}`,
    });
    void askProgram(question, { program, signal: done.signal }).catch(failed).then(submit);
  }).finally(() => done.abort());
}

async function askProgram(
  question: ApprovalQuestion,
  { program, signal }: { readonly program: Approvals; readonly signal: AbortSignal },
): Promise<ApprovalAnswer> {
  const answer = await program.ask(question, signal);
  if (answer.answer !== "allow" && answer.answer !== "deny") throw new Error("the answer was neither allow nor deny");
  if (!areReplies(answer.replies)) throw new Error("replies must be an array of string arrays, one for each question");
  return answer;
}

function areReplies(replies: unknown): boolean {
  const isReply = (reply: unknown): boolean => Array.isArray(reply) && reply.every((text) => typeof text === "string");
  return replies === undefined || (Array.isArray(replies) && replies.every(isReply));
}

/** An approver who changed the input has allowed the new input. Answers its question in advance, in case it has to be asked. */
async function allowEdited(question: ApprovalQuestion, answer: ApprovalAnswer, inbox: Inbox): Promise<void> {
  const { inputJson, by } = answer;
  if (inputJson === undefined) return;
  const call = { ...question.call, inputJson };
  const edited = { ...question, ...requestIdOf(question, call), call, always: [] };
  if (inbox.answerTo(edited.requestId) !== undefined) return;
  await inbox.request(edited);
  await inbox.answer(edited.requestId, { answer: "allow", by });
}

/** Returns the same id for the same call with the same input in every process, so that it is asked about once. */
export function requestIdOf(
  { sessionId, agentId }: Pick<ApprovalQuestion, "sessionId" | "agentId">,
  call: ToolCall,
): Pick<ApprovalQuestion, "requestId" | "inputHash"> {
  const inputHash = hash([call.name, call.inputJson]);
  return { requestId: `ask_${hash([sessionId, agentId, call.callId, inputHash]).slice(0, 12)}`, inputHash };
}

function hash(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
