import type { ApprovalAnswer, ApprovalQuestion, Rule } from "../protocol/index.ts";

/** Lets a program answer approval questions itself. The signal fires if another process answers first. */
export interface Approvals {
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer>;
}

/** Approval questions and answers of a session, from any process. They survive the death of this process. */
export interface Inbox {
  /** Adds a question and resolves when other processes can see it. A question that exists already stays as it is. */
  request(question: ApprovalQuestion): Promise<void>;
  /** Returns the answer that counts, or undefined if no one waits for an answer to this request. */
  answer(requestId: string, answer: ApprovalAnswer): Promise<CountedAnswer | undefined>;
  withdraw(requestId: string, reason: string): Promise<void>;
  answerTo(requestId: string): ApprovalAnswer | undefined;
  /** Returns the questions without an answer. */
  open(): readonly ApprovalQuestion[];
  /** Rules from "always" answers in this session. Returns the same list until it grows. */
  rules(): readonly Rule[];
  /** Calls `onChange` after every change. Returns a function that ends that. */
  watch(onChange: () => void): () => void;
}

/** The answer that counts: the one just given, or an earlier one from another process. */
export interface CountedAnswer {
  readonly answer: ApprovalAnswer;
  readonly isOwn: boolean;
}
