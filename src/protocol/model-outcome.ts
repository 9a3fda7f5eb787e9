import type { AssistantBlock, AssistantMessage } from "./message.ts";
import type { Usage } from "./usage.ts";

export type StopReason = "end_turn" | "tool_calls" | "max_tokens" | "refusal" | "stop_sequence" | "pause";

export type ModelErrorCode =
  | "aborted"
  | "auth"
  | "bad_request"
  /** The budget has no room for another attempt. */
  | "budget"
  | "connection"
  | "context_overflow"
  | "overloaded"
  | "protocol"
  | "rate_limited"
  | "server"
  | "spend_cap"
  | "stalled"
  | "unknown_model"
  | "unsupported";

export interface ModelError {
  readonly code: ModelErrorCode;
  /** One sentence with the cure. */
  readonly message: string;
  readonly status?: number | undefined;
}

export type ModelOutcome =
  | {
      readonly ok: true;
      readonly message: AssistantMessage;
      readonly stopReason: StopReason;
      readonly usage: Usage;
      /** What was paid for tries before this one that broke off; no part of `usage`. */
      readonly lostUsage?: Usage | undefined;
      /** Calls the model began and did not finish; they are in no message and never run. */
      readonly incompleteCalls: number;
    }
  | {
      readonly ok: false;
      readonly error: ModelError;
      /** Text and thinking that had arrived; never a tool call. */
      readonly partial: readonly AssistantBlock[];
      readonly usage?: Usage | undefined;
    };
