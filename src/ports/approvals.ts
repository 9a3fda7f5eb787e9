import type {
  AgentId,
  ApprovalAnswer,
  ApprovalQuestion,
  CallId,
  Command,
  GivenAnswer,
  Receipt,
  Rule,
} from "../protocol/index.ts";

/**
 * Lets a program answer approval questions. The signal fires when the question no longer needs an answer. If it was
 * answered, for example by another process, the signal's reason is the `ApprovalAnswer` that applies.
 */
export interface Approvals {
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<GivenAnswer>;
}

/**
 * Storage for a session's approval questions, the answers to them, and the commands sent to the session. Any process
 * can read and write it, and its contents outlive this process.
 */
export interface Inbox {
  /**
   * Adds a question. Resolves when other processes can see the question. Has no effect if the question already exists.
   */
  request(question: ApprovalQuestion): Promise<void>;
  /**
   * Answers a question. Returns the answer that applies, or undefined if the question is not open and has no answer.
   */
  answer(requestId: string, answer: ApprovalAnswer): Promise<CountedAnswer | undefined>;
  withdraw(requestId: string, reason: string): Promise<void>;
  answerTo(requestId: string): ApprovalAnswer | undefined;
  /** Returns an agent's calls whose questions are open or have an answer. */
  askedCalls(agentId: AgentId): readonly CallId[];
  /** Returns the questions that have no answer yet. */
  open(): readonly ApprovalQuestion[];
  /** Returns the rules from "always" answers in this session. Returns the same list until a rule is added. */
  rules(): readonly Rule[];
  /** Sends a command to the process that has the session open. Has no effect if an earlier command has the same id. */
  send(command: Command): Promise<void>;
  /** Returns the commands that have no receipt yet, oldest first. */
  commands(): readonly Command[];
  settle(receipt: Receipt, command: Command): Promise<void>;
  receiptOf(commandId: string): Receipt | undefined;
  /** Returns whether a different command was sent with the same id. */
  isIdInUse(command: Command): boolean;
  /**
   * Calls `onChange` after every change. Returns a function that stops watching. With `idle`, watching does not keep
   * the process alive.
   */
  watch(onChange: () => void, options?: { readonly idle?: boolean }): () => void;
}

/** The answer that applies to a question: the one just given, or an earlier one from another process. */
export interface CountedAnswer {
  readonly answer: ApprovalAnswer;
  readonly isOwn: boolean;
}
