import type { CommandFact, EndedNotice, Notice } from "../events/outcome.ts";
import type { CallId } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import type { ResultBlock } from "../model/message.ts";
import type { Usage } from "../model/usage.ts";

export interface ToolCall {
  readonly callId: CallId;
  readonly name: string;
  readonly inputJson: string;
}

/** Every call has exactly one outcome. `unknown`: the process died after the call began and before its end was recorded. */
export type CallOutcome = "ok" | "error" | "denied" | "cancelled" | "timeout" | "unknown";

export interface ToolResult {
  readonly outcome: CallOutcome;
  /** Content for the model, already truncated to its limit. */
  readonly content: readonly ResultBlock[];
  /** Data for user interfaces, shown beside the text. */
  readonly details?: JsonObject | undefined;
  readonly facts?: ToolFacts | undefined;
}

export interface ToolFacts {
  readonly filesChanged?: readonly string[] | undefined;
  readonly command?: CommandFact | undefined;
  /** Background run that the call started. */
  readonly launched?: Notice | undefined;
  /** End of the subagent that worked on the call. */
  readonly agent?: EndedNotice | undefined;
  /** Cost of the call itself, if it used a model. The tool's traits must announce that. */
  readonly spent?: { readonly usage: Usage; readonly costUsd?: number | undefined };
}

/** Tools that a definition requested, and those it got. */
export interface ToolReport {
  /** The definition has no list, or one with `*`: it requests all tools. */
  readonly hasWildcard: boolean;
  /** Entries that name an available tool, as written. */
  readonly validTools: readonly string[];
  readonly invalidTools: readonly string[];
  /** Canonical names of the agent's tools. */
  readonly resolvedTools: readonly string[];
  /** Requested tools that the agent does not get, with the reason. */
  readonly withheld?: readonly { readonly tool: string; readonly why: string }[] | undefined;
}
