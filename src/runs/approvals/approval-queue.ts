import { createHash } from "node:crypto";
import { describeError } from "../../lib/index.ts";
import { parseRule } from "../../permissions/index.ts";
import type { Approvals, CountedAnswer, Inbox } from "../../ports/index.ts";
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  NO_APPROVER,
  type Policy,
  type Rule,
  THE_PROGRAM,
  type ToolCall,
} from "../../protocol/index.ts";
import { orAbort } from "../or-abort.ts";
import { answerProblem } from "./answer-problem.ts";

/** Queue of tool calls that are waiting for approval. */
export interface ApprovalQueue {
  /** Whether a user, a program or another process may answer. */
  readonly attended: boolean;
  /** Returns whether anyone can answer an agent's questions, given whether the agent works in the background. */
  canAnswer(background: boolean): boolean;
  /** Reads the rules in settings files again. Absent if they can't change. Never rejects. */
  refresh?(): Promise<void>;
  /**
   * Returns the policy with the current rules from settings files and the rules that "always" answers added in this
   * session. Returns the same object for the same policy until the rules change.
   */
  policyFor(policy: Policy): Policy;
  /**
   * Asks for approval of a call. Returns undefined if the signal fires first. Does not reject if the program or another
   * process fails.
   */
  ask(question: ApprovalQuestion, options: AskOptions): Promise<ApprovalAnswer | undefined>;
}

/** The rules in a session's settings files, which may change while the session is open. */
export interface LiveRules {
  /** Reads the files again. Never rejects. */
  refresh(): Promise<void>;
  /** Returns the policy with the current rules. Returns the same object for the same policy until they change. */
  apply(policy: Policy): Policy;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  /** Called once, before the question is shown. Not called if the question already has an answer. */
  readonly onOpen: () => Promise<void>;
  /** Returns the rule that allows the call now, if one has been added since the question was asked. */
  readonly settledBy: () => Promise<string | undefined>;
}

export interface ApprovalQueueOptions {
  /** If false, questions are denied unless they were answered in an earlier process. */
  readonly attended: boolean;
  /** If true, questions from background agents are denied. */
  readonly deniesBackground?: boolean;
  readonly program?: Approvals | undefined;
  readonly inbox: Inbox;
  readonly live?: LiveRules | undefined;
  /** Called with a message for the program if its function fails or returns an invalid answer. */
  readonly report?: ((message: string) => void) | undefined;
  /** Saves a rule for later sessions in this directory. */
  readonly keepRule?: ((rule: string) => Promise<void>) | undefined;
}

export interface SessionApprovals extends ApprovalQueue {
  /** Answers a question. Returns the answer that applies, or undefined if there is no such question. */
  answer(requestId: string, answer: ApprovalAnswer): Promise<CountedAnswer | undefined>;
  /** From now on, stopping a run leaves its questions open, so that they can be answered later. */
  park(): void;
  /** Withdraws the questions that are still open, unless the queue is parked. */
  close(): Promise<void>;
}

const unattended: ApprovalAnswer = { answer: "deny", by: NO_APPROVER };

/** Creates a session's approval queue on its inbox, which may contain questions and answers from earlier processes. */
export function createApprovalQueue(options: ApprovalQueueOptions): SessionApprovals {
  const { inbox, live } = options;
  const withSessionRules = addingRules(() => inbox.rules());
  let isParked = false;
  const keepsOpen = (): boolean => isParked;
  const canAnswer = (background: boolean): boolean => options.attended && !(background && options.deniesBackground);
  return {
    attended: options.attended,
    canAnswer,
    refresh: async () => live?.refresh(),
    policyFor: (policy) => withSessionRules(live?.apply(policy) ?? policy),
    ask: (question, askOptions) =>
      waitForAnswer(question, {
        ...askOptions,
        ...options,
        attended: canAnswer(question.background === true),
        keepsOpen,
      }),
    answer: (requestId, answer) => inbox.answer(requestId, answer),
    park: () => {
      isParked = true;
    },
    close: async () => {
      if (isParked) return;
      for (const { requestId } of inbox.open()) await inbox.withdraw(requestId, "The session was closed.");
    },
  };
}

/**
 * Returns a function that adds the current rules to a policy. Policies are compiled once per object, so the function
 * returns the same object as long as the rules stay the same.
 */
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

interface WaitOptions extends AskOptions, ApprovalQueueOptions {
  /** Returns whether the question stays open if the run is stopped. */
  readonly keepsOpen: () => boolean;
}

/**
 * Returns the first answer: from the program, from another process, or from a rule that an "always" answer has added
 * since.
 */
async function waitForAnswer(question: ApprovalQuestion, options: WaitOptions): Promise<ApprovalAnswer | undefined> {
  const { inbox, attended, onOpen, keepRule, signal } = options;
  const { requestId } = question;
  const known = inbox.answerTo(requestId);
  // Writing the request can take a long time if the disk is full.
  if (known === undefined && attended) await orAbort(inbox.request(question), signal);
  if (signal.aborted) return undefined;
  if (known === undefined) await onOpen();
  const answer = known ?? (attended ? await firstAnswer(question, options) : await denyOpen(question, inbox));
  if (answer === undefined || signal.aborted) {
    if (!options.keepsOpen()) await inbox.withdraw(requestId, "The run was stopped.");
    return undefined;
  }
  if (answer.answer === "deny") return answer;
  if (question.kind === "call") await allowEdited(question, answer, inbox);
  const { always } = answer;
  if (always?.for === "project" && parseRule(always.rule).ok) await keepRule?.(always.rule);
  return answer;
}

/** Denies a question that an earlier process left open. */
async function denyOpen({ requestId }: ApprovalQuestion, inbox: Inbox): Promise<ApprovalAnswer> {
  return (await inbox.answer(requestId, unattended))?.answer ?? unattended;
}

function firstAnswer(
  question: ApprovalQuestion,
  { inbox, program, report, signal, settledBy }: WaitOptions,
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
    void askProgram(question, { program, signal: done.signal }).then(({ answer, failure }) => {
      if (done.signal.aborted) return undefined;
      if (failure !== undefined) report?.(`A call to ${question.call.name} was denied: ${failure}`);
      return submit(answer);
    });
  })
    .then((answer) => {
      done.abort(answer);
      return answer;
    })
    .finally(() => done.abort());
}

interface ProgramAnswer {
  readonly answer: ApprovalAnswer;
  /** Set if the call is denied because the program's function gave no valid answer: the reason. */
  readonly failure?: string | undefined;
}

/** Asks the program. A function that fails, or returns an invalid answer, denies the call. Never rejects. */
async function askProgram(
  question: ApprovalQuestion,
  { program, signal }: { readonly program: Approvals; readonly signal: AbortSignal },
): Promise<ProgramAnswer> {
  const denied = (failure: string): ProgramAnswer => {
    return { answer: { answer: "deny", by: THE_PROGRAM, message: failure }, failure };
  };
  try {
    const answer = await program.ask(question, signal);
    const problem = answerProblem(answer, question.questions);
    if (problem === undefined) return { answer: { ...answer, by: answer.by ?? THE_PROGRAM } };
    return denied(`The answer of the program's \`approvals.ask\` function is invalid: ${problem}`);
  } catch (error) {
    return denied(`The program's \`approvals.ask\` function failed: ${describeError(error)}`);
  }
}

/**
 * Records an edited input as allowed. The approver who edited the input has approved it, so the question about the
 * edited call, if it comes up, is answered in advance.
 */
async function allowEdited(question: ApprovalQuestion, answer: ApprovalAnswer, inbox: Inbox): Promise<void> {
  const { inputJson, by } = answer;
  if (inputJson === undefined) return;
  const call = { ...question.call, inputJson };
  const edited = { ...question, ...requestIdOf(question, call), call, always: [] };
  if (inbox.answerTo(edited.requestId) !== undefined) return;
  await inbox.request(edited);
  await inbox.answer(edited.requestId, { answer: "allow", by });
}

/**
 * Returns an id that is the same in every process for the same call with the same input, so that the user is asked only
 * once.
 */
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
