import type { AgentId, SessionId } from "../ids.ts";
import type { ToolCall } from "../tools/tool.ts";
import type { Decision } from "./permission.ts";
import type { UserQuestion, UserReply } from "./user-question.ts";

/**
 * A call that is waiting for approval. The same call with the same input always has the same id, even after a restart.
 */
export interface ApprovalQuestion {
  readonly requestId: string;
  readonly sessionId: SessionId;
  /**
   * `launch`: the call starts a background agent, and allowing the call grants the agent the rules in `grants`.
   * `question`: the agent asks the user `questions`, to be answered with `replies`.
   */
  readonly kind: "call" | "launch" | "question";
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Ids of the agents from the main agent's child down to this one; empty for the main agent. */
  readonly path: readonly AgentId[];
  /** Set if the agent or one of its ancestors runs in the background. */
  readonly background?: true | undefined;
  readonly call: ToolCall;
  /** Hash of the tool and its input. An answer is valid only for exactly this input. */
  readonly inputHash: string;
  readonly decision: Decision;
  /**
   * Rules that an "always" answer can add, narrowest first. A rule that is only a tool's name, as for a program's own
   * tool or an MCP tool, allows every call of the tool, with any input. If empty, the call can only be allowed once.
   */
  readonly always: readonly string[];
  /** Rules that are granted to the new agent if the launch is allowed. */
  readonly grants?: readonly string[] | undefined;
  /** One to four questions that the agent asks the user. */
  readonly questions?: readonly UserQuestion[] | undefined;
}

/** Answer to a request for approval. */
export interface ApprovalAnswer {
  readonly answer: "allow" | "deny";
  /** Name of the approver. */
  readonly by: string;
  /** Message that is shown to the model with a denial. */
  readonly message?: string | undefined;
  /** Replaces the input of an allowed call. A new decision is made on the new input. */
  readonly inputJson?: string | undefined;
  /** Rule to add when the call is allowed. Calls that match the rule no longer need approval. */
  readonly always?: AlwaysAnswer | undefined;
  /** Replies to the agent's questions, in the same order. Present only if the call is allowed. */
  readonly replies?: readonly UserReply[] | undefined;
}

/** An answer that a program gives. `by` defaults to `the program`. */
export type GivenAnswer = Omit<ApprovalAnswer, "by"> & { readonly by?: string | undefined };

/** Recorded as the approver if a program's answer does not name one. */
export const THE_PROGRAM = "the program";

/** Recorded as the approver if no approver is available. */
export const NO_APPROVER = "no approver";

export interface AlwaysAnswer {
  /** One of the rules in the question's `always`, or any other rule. */
  readonly rule: string;
  /**
   * `project`: the rule is saved in `.retinue/settings.local.json` and also applies to later sessions in this
   * directory.
   */
  readonly for: "session" | "project";
}
