import type { ApprovalAnswer, ApprovalQuestion, Rule } from "../protocol/index.ts";

/** Lets a program answer approval questions. The signal fires if another process answers first. */
export interface Approvals {
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer>;
}

/** Approval questions and answers in a session, from any process. They outlive this process. */
export interface Inbox {
  /** Adds a question. Resolves when other processes can see it. Has no effect if the question already exists. */
  request(question: ApprovalQuestion): Promise<void>;
  /** Answers a question. Returns the valid answer, or undefined if the question is not open and has no answer. */
  answer(requestId: string, answer: ApprovalAnswer): Promise<CountedAnswer | undefined>;
  withdraw(requestId: string, reason: string): Promise<void>;
  answerTo(requestId: string): ApprovalAnswer | undefined;
  /** Returns the questions that have no answer yet. */
  open(): readonly ApprovalQuestion[];
  /** Returns the rules from "always" answers in this session. Returns the same list until a rule is added. */
  rules(): readonly Rule[];
  /** Calls `onChange` after every change. Returns a function that stops watching. */
  watch(onChange: () => void): () => void;
}

/** The valid answer to a question: the one just given, or an earlier one from another process. */
export interface CountedAnswer {
  readonly answer: ApprovalAnswer;
  readonly isOwn: boolean;
}
