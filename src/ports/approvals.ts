import type { ApprovalAnswer, ApprovalQuestion, Rule } from "../protocol/index.ts";

/** A program's own way to answer. Other processes may be quicker: then the signal fires. */
export interface Approvals {
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer>;
}

/** What was asked and answered in a session, by whatever process. Nothing here is lost with this process. */
export interface Inbox {
  /** Resolves when everybody can see it. One that is there already stays as it is. */
  request(question: ApprovalQuestion): Promise<void>;
  /** Undefined: no such request was made, or nobody waits for an answer any more. */
  answer(requestId: string, answer: ApprovalAnswer): Promise<CountedAnswer | undefined>;
  withdraw(requestId: string, reason: string): Promise<void>;
  answerTo(requestId: string): ApprovalAnswer | undefined;
  /** Requests that wait. */
  open(): readonly ApprovalQuestion[];
  /** What "always" allowed in this session so far; the same list until it grows. */
  rules(): readonly Rule[];
  /** Called after something has come in. The result ends that. */
  watch(onChange: () => void): () => void;
}

/** The answer that counts: the one just given, or that of who was quicker. */
export interface CountedAnswer {
  readonly answer: ApprovalAnswer;
  readonly isOwn: boolean;
}
