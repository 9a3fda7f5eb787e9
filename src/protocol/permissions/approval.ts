import type { AgentId, SessionId } from "../ids.ts";
import type { ToolCall } from "../tools/tool.ts";
import type { Decision } from "./permission.ts";
import type { UserQuestion, UserReply } from "./user-question.ts";

/** A call that waits for approval. The same call with the same input has the same id, also after a restart. */
export interface ApprovalQuestion {
  readonly requestId: string;
  readonly sessionId: SessionId;
  /**
   * `launch`: the call starts a background agent, and allowing it grants that agent the rules in `grants`.
   * `question`: the agent asks the user something. Answer with `replies` to `questions`.
   */
  readonly kind: "call" | "launch" | "question";
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Ids of the agents from the main agent's child down to this one; empty for the main agent. */
  readonly path: readonly AgentId[];
  /** The agent, or one above it, runs in the background. */
  readonly background?: true | undefined;
  readonly call: ToolCall;
  /** Hash of tool and input: an answer is valid for exactly this input. */
  readonly inputHash: string;
  readonly decision: Decision;
  /** Rules that an "always" answer can add, the narrowest first. Empty: the call can only be allowed once. */
  readonly always: readonly string[];
  /** Rules that a launch would grant to its agent. */
  readonly grants?: readonly string[] | undefined;
  /** What an agent asks the user, one to four questions. */
  readonly questions?: readonly UserQuestion[] | undefined;
}

export interface ApprovalAnswer {
  readonly answer: "allow" | "deny";
  /** Name of the approver. */
  readonly by: string;
  /** Shown to the model with a denial. */
  readonly message?: string | undefined;
  /** Replaces the input of an allowed call. The new input is decided on anew. */
  readonly inputJson?: string | undefined;
  /** Rule to add with an allow: calls that it covers need no approval any longer. */
  readonly always?: AlwaysAnswer | undefined;
  /** Replies to the questions of an agent, in their order. With an allow. */
  readonly replies?: readonly UserReply[] | undefined;
}

/** Approver that is recorded if no approver is available. */
export const NO_APPROVER = "nobody to ask";

export interface AlwaysAnswer {
  /** One of the question's `always` rules, or any other. */
  readonly rule: string;
  /** `project` also applies to later sessions in this directory, by its `.retinue/settings.local.json`. */
  readonly for: "session" | "project";
}

/** A line of a session's `inbox.jsonl`. If a request has several answers, the first one is used. */
export type InboxLine = { readonly v: 1; readonly at: number } & (
  | ({ readonly type: "approval.requested" } & ApprovalQuestion)
  | ({ readonly type: "approval.answered"; readonly answerId: string } & Answered & ApprovalAnswer)
  /** The answer is not needed any longer. */
  | { readonly type: "approval.withdrawn"; readonly requestId: string; readonly reason: string }
);

interface Answered {
  readonly requestId: string;
  readonly inputHash: string;
}
