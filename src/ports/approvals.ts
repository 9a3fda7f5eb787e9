import type { AgentId, Decision, ToolCall } from "../protocol/index.ts";

export interface ApprovalQuestion {
  readonly requestId: string;
  readonly agentId: AgentId;
  readonly call: ToolCall;
  readonly decision: Decision;
}

export interface ApprovalAnswer {
  readonly answer: "allow" | "deny";
  /** Who or what answered, for the transcript. */
  readonly by: string;
  /** Told to the model with a denial. */
  readonly message?: string;
}

/** Where calls that need a person's word wait for it. */
export interface Approvals {
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer>;
}
