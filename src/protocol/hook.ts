import type { AgentId, CallId, RunId, SessionId } from "./ids.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Outcome } from "./outcome.ts";
import type { Effect, PermissionMode } from "./permission.ts";

export const hookEvents = [
  "PreToolUse",
  "PostToolUse",
  "PermissionRequest",
  "Stop",
  "SubagentStart",
  "SubagentStop",
  "SessionStart",
  "SessionEnd",
  "UserPromptSubmit",
  "Notification",
  "PreCompact",
] as const;
export type HookEvent = (typeof hookEvents)[number];

/** Those that can stand in a definition, for the agent that is defined there. */
export const definitionHookEvents: readonly HookEvent[] = ["PreToolUse", "PostToolUse", "Stop", "SubagentStop"];

/** One command for one event, from whichever shape it was written in. */
export interface HookEntry {
  readonly event: HookEvent;
  /** Of tools, agent types or whatever the event is about; absent: all. */
  readonly matcher?: string | undefined;
  readonly command: string;
  /** The command is a program with these arguments; absent: it is a line for a shell. */
  readonly args?: readonly string[] | undefined;
  readonly timeoutSeconds?: number | undefined;
}

/** Whose word a hook is: that of the user (or the program, or who manages the machine), or that of files others wrote. */
export type HookSource = "user" | "project" | "plugin";

/** What every hook is told: who does something, where, and in which session. */
export interface HookCommon {
  readonly hook_event_name: HookEvent;
  /** Of the root session; all its agents share it. */
  readonly session_id: SessionId;
  readonly agent_id: AgentId;
  readonly agent_type: string;
  /** null for the main agent. */
  readonly parent_agent_id: AgentId | null;
  /** The main agent has depth 0. */
  readonly depth: number;
  /** null where nothing is kept. */
  readonly transcript_path: string | null;
  readonly cwd: string;
  readonly permission_mode: PermissionMode;
}

export interface ToolHookFacts {
  readonly tool_name: string;
  readonly tool_input: JsonValue;
  readonly tool_use_id: CallId;
}

/** What a hook is told beside `HookCommon`, by event. */
export interface HookFacts {
  readonly PreToolUse: ToolHookFacts;
  readonly PostToolUse: ToolHookFacts & { readonly tool_response: JsonObject; readonly duration_ms: number };
  readonly PermissionRequest: ToolHookFacts & { readonly reason: string };
  readonly Stop: {
    /** A hook has kept the agent going in this run before. */
    readonly stop_hook_active: boolean;
    readonly last_assistant_message: string;
  };
  readonly SubagentStart: { readonly run_id: RunId };
  readonly SubagentStop: {
    readonly run_id: RunId;
    readonly outcome: Outcome;
    /** Why the run ended: `done`, `max_turns`, `process_lost`… */
    readonly reason: string;
    readonly last_assistant_message: string;
  };
  readonly SessionStart: { readonly source: "startup" | "resume" };
  readonly SessionEnd: { readonly reason: string };
  readonly UserPromptSubmit: { readonly prompt: string };
  readonly Notification: { readonly message: string; readonly notification_type: string };
  readonly PreCompact: { readonly trigger: "auto" | "manual" };
}

/** What a hook says. Everything may be absent: nothing to say. */
export interface HookAnswer {
  /**
   * A call: whether it may be made. Stop: `deny` keeps the agent going. UserPromptSubmit: `deny` sends the prompt back.
   * Elsewhere it means nothing.
   */
  readonly decision?: Effect | undefined;
  /** For the model where the decision concerns it. */
  readonly reason?: string | undefined;
  /** Takes the place of a call's whole input, which is then decided about anew. */
  readonly input?: JsonObject | undefined;
  /** Words for the model. */
  readonly context?: string | undefined;
  /** A line for the person. */
  readonly notice?: string | undefined;
}

/** What is kept of an occasion that concerned hooks. */
export interface HookRecord {
  readonly event: HookEvent;
  /** How many were run. */
  readonly ran: number;
  /** Of the call it was about. */
  readonly callId?: CallId | undefined;
  /** Of the run whose beginning or end it was. */
  readonly runId?: RunId | undefined;
  readonly decision?: Effect | undefined;
  readonly reason?: string | undefined;
  /** What takes the place of the call's input. */
  readonly inputJson?: string | undefined;
  /** As the model reads it. */
  readonly context?: string | undefined;
}
