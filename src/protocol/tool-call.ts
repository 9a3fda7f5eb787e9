import type { CallId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { ResultBlock } from "./message.ts";
import type { EndedNotice, Notice } from "./notice.ts";
import type { CommandFact } from "./outcome.ts";
import type { Usage } from "./usage.ts";

export interface ToolCall {
  readonly callId: CallId;
  readonly name: string;
  readonly inputJson: string;
}

/** Every call ends in exactly one of these. `unknown`: begun, and the process died before the end was recorded. */
export type CallOutcome = "ok" | "error" | "denied" | "cancelled" | "timeout" | "unknown";

export interface ToolResult {
  readonly outcome: CallOutcome;
  /** For the model; already bounded. */
  readonly content: readonly ResultBlock[];
  /** For the eye: what a terminal or a web page shows beside the text. */
  readonly details?: JsonObject | undefined;
  readonly facts?: ToolFacts | undefined;
}

export interface ToolFacts {
  readonly filesChanged?: readonly string[] | undefined;
  readonly command?: CommandFact | undefined;
  /** A run that goes on in the background: its end will be told. */
  readonly launched?: Notice | undefined;
  /** How the agent ended that worked on the call. */
  readonly agent?: EndedNotice | undefined;
  /** What the call itself cost, where it asked a model; the tool's traits said that it might. */
  readonly spent?: { readonly usage: Usage; readonly costUsd?: number | undefined };
}
