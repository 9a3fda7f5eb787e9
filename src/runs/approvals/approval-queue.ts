import type { Approvals, Inbox } from "../../ports/index.ts";
import { type ApprovalAnswer, type ApprovalQuestion, NOBODY, type Policy } from "../../protocol/index.ts";

/** Where calls of a session's agents wait for somebody's word. */
export interface ApprovalQueue {
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

export interface ApprovalQueueOptions {
  /** False: nobody answers, but for answers that are there already. */
  readonly attended: boolean;
  /** Agents in the background are not asked for. */
  readonly deniesBackground?: boolean;
  readonly program?: Approvals | undefined;
  readonly openInbox: () => Promise<Inbox>;
  /** Keeps a rule for later sessions of this directory. */
  readonly keepRule?: ((rule: string) => Promise<void>) | undefined;
}

export interface SessionApprovals extends ApprovalQueue {
  /** What an earlier process asked and was answered counts from here on. */
  load(): Promise<void>;
  /** Nobody waits any more. */
  close(): Promise<void>;
}

export const nobodysAnswer: ApprovalAnswer = { answer: "deny", by: NOBODY };
