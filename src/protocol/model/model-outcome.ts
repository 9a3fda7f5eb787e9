import type { AssistantBlock, AssistantMessage } from "./message.ts";
import type { Usage } from "./usage.ts";

/** Why a model ended its response. */
export type StopReason = "end_turn" | "tool_calls" | "max_tokens" | "refusal" | "stop_sequence" | "pause";

/** Kind of an error. */
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
  /** The provider refuses thinking in the conversation, usually because something before it has changed. */
  | "thinking_refused"
  | "unknown_model"
  | "unsupported";

/** Why there is no response. */
export interface ModelError {
  readonly code: ModelErrorCode;
  /** One sentence that tells the user what to do. */
  readonly message: string;
  readonly status?: number | undefined;
}

/** Something that the provider changed in a request before the model read it, such as thinking that it left out. */
export interface InputTransformation {
  /** For example `thinking_dropped`. */
  readonly type: string;
  /** Position in the request. */
  readonly path?: string | undefined;
  readonly reason?: string | undefined;
}

/** Response of a model, or the reason why there is none. */
export type ModelOutcome =
  | {
      readonly ok: true;
      readonly message: AssistantMessage;
      readonly stopReason: StopReason;
      readonly usage: Usage;
      /** Usage of earlier attempts that failed midway. Not included in `usage`. */
      readonly lostUsage?: Usage | undefined;
      /**
       * Number of calls that the model began but did not finish. They are not part of any message and are never run.
       */
      readonly incompleteCalls: number;
      /** What the provider changed in the request, if it says so. */
      readonly inputTransformations?: readonly InputTransformation[] | undefined;
    }
  | {
      readonly ok: false;
      readonly error: ModelError;
      /** Text and thinking received before the error. Never contains a tool call. */
      readonly partial: readonly AssistantBlock[];
      readonly usage?: Usage | undefined;
    };
