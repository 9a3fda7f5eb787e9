import type { AgentId, SessionId } from "./ids.ts";
import type { Decision } from "./permission.ts";
import type { ToolCall } from "./tool-call.ts";

/** A call that waits for somebody's word. The same call with the same input has the same id, also after a restart. */
export interface ApprovalQuestion {
  readonly requestId: string;
  readonly sessionId: SessionId;
  /** `launch`: the call starts an agent in the background, and yes to it allows that agent what `grants` lists. */
  readonly kind: "call" | "launch";
  readonly agentId: AgentId;
  readonly agentType: string;
  /** From the main agent's child down to this agent; empty for the main agent. */
  readonly path: readonly AgentId[];
  /** Nobody waits for the agent, or for one it works for. */
  readonly background?: true | undefined;
  readonly call: ToolCall;
  /** Of tool and input: an answer counts for exactly this input. */
  readonly inputHash: string;
  readonly decision: Decision;
  /** Rules that "always" can mean: first the one that covers this call alone. Empty: it can only be allowed once. */
  readonly always: readonly string[];
  /** Rules that a launch would allow its agent. */
  readonly grants?: readonly string[] | undefined;
}

export interface ApprovalAnswer {
  readonly answer: "allow" | "deny";
  /** Who or what answered. */
  readonly by: string;
  /** Told to the model with a denial. */
  readonly message?: string | undefined;
  /** With a yes: the call is made with this input instead, once that was decided about from the start. */
  readonly inputJson?: string | undefined;
  /** With a yes: what this rule covers is not asked about again. */
  readonly always?: AlwaysAnswer | undefined;
}

/** Who answers where nobody is asked. */
export const NOBODY = "nobody to ask";

export interface AlwaysAnswer {
  /** One of the question's, or any other. */
  readonly rule: string;
  /** In this session; or also in later ones of this directory, in its `.retinue/settings.local.json`. */
  readonly for: "session" | "project";
}

/** A line of a session's `inbox.jsonl`. Of several answers to one request the first counts. */
export type InboxLine = { readonly v: 1; readonly at: number } & (
  | ({ readonly type: "approval.requested" } & ApprovalQuestion)
  | ({ readonly type: "approval.answered"; readonly answerId: string } & Answered & ApprovalAnswer)
  /** Nobody needs to know any more. */
  | { readonly type: "approval.withdrawn"; readonly requestId: string; readonly reason: string }
);

/** What an answer is about. */
interface Answered {
  readonly requestId: string;
  readonly inputHash: string;
}
