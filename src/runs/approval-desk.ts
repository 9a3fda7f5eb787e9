import type { Approvals, Inbox } from "../ports/index.ts";
import { type ApprovalAnswer, type ApprovalQuestion, NOBODY, type Policy, type Rule } from "../protocol/index.ts";

/** Where calls of a session's agents wait for somebody's word. */
export interface ApprovalDesk {
  /** Somebody may answer. */
  readonly attended: boolean;
  /** With what people allowed for this session; the same object as long as that is the same. */
  policyFor(policy: Policy): Policy;
  /** Undefined: the signal fired first. Never rejects for what a program or another process does. */
  ask(question: ApprovalQuestion, asking: Asking): Promise<ApprovalAnswer | undefined>;
}

export interface Asking {
  readonly signal: AbortSignal;
  /** Called once, before anybody is shown the question; not where it was answered before. */
  readonly onOpen: () => Promise<void>;
  /** The rule that has come to allow the call, if there is one. */
  readonly settledBy: () => Promise<string | undefined>;
}

export interface DeskOptions {
  /** False: nobody answers, but for answers that are there already. */
  readonly attended: boolean;
  /** Agents in the background are not asked for. */
  readonly deniesBackground?: boolean;
  readonly program?: Approvals;
  readonly openInbox: () => Promise<Inbox>;
  /** Keeps a rule for later sessions of this directory. */
  readonly keepRule?: (rule: string) => Promise<void>;
}

export interface SessionDesk extends ApprovalDesk {
  /** What an earlier process asked and was answered counts from here on. */
  load(): Promise<void>;
  /** Nobody waits any more. */
  close(): Promise<void>;
}

/** Costs nothing until somebody has to be asked. */
export function createApprovalDesk(options: DeskOptions): SessionDesk {
  let inbox: Inbox | undefined;
  let opening: Promise<Inbox> | undefined;
  const widened = createWidening(() => inbox?.rules() ?? []);
  const open = async (): Promise<Inbox> => {
    opening ??= options.openInbox();
    inbox = await opening;
    return inbox;
  };
  return {
    attended: options.attended,
    policyFor: widened,
    ask: async (question, asking) => {
      const attended = options.attended && !(question.background && options.deniesBackground);
      if (!attended && opening === undefined) {
        await asking.onOpen();
        return nobodysAnswer;
      }
      const { waitForAnswer } = await import("./wait-for-answer.ts");
      return waitForAnswer(question, { ...asking, ...options, attended, inbox: await open() });
    },
    load: async () => void (await open()),
    close: async () => {
      const left = (await opening)?.open() ?? [];
      for (const { requestId } of left) await inbox?.withdraw(requestId, "The session was closed.");
    },
  };
}

export const nobodysAnswer: ApprovalAnswer = { answer: "deny", by: NOBODY };

/** Policies are compiled once for each object, so the same rules must give the same object. */
function createWidening(rules: () => readonly Rule[]): (policy: Policy) => Policy {
  let known: readonly Rule[] = [];
  let made = new WeakMap<Policy, Policy>();
  return (policy) => {
    const now = rules();
    if (now.length === 0) return policy;
    if (now !== known) made = new WeakMap();
    known = now;
    const before = made.get(policy);
    if (before !== undefined) return before;
    const widened = { ...policy, rules: [...policy.rules, ...now] };
    made.set(policy, widened);
    return widened;
  };
}
