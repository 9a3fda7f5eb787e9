import type { Outcome } from "../events/outcome.ts";
import type { AgentId, CallId, RunId, SessionId } from "../ids.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { Effect, PermissionMode } from "../permissions/permission.ts";

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
/** Name of an event for which hooks can run. */
export type HookEvent = (typeof hookEvents)[number];

/** Events for which a definition can have hooks. These hooks run only for that definition's agent. */
export const definitionHookEvents: readonly HookEvent[] = ["PreToolUse", "PostToolUse", "Stop", "SubagentStop"];

/** One command for one event, in normalized form. */
export interface HookEntry {
  readonly event: HookEvent;
  /** Pattern for the tool, agent type or other subject of the event. If absent, the hook matches every subject. */
  readonly matcher?: string | undefined;
  readonly command: string;
  /** Arguments of the program `command`. If absent, `command` is a shell command line. */
  readonly args?: readonly string[] | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** File and line of the hook, for messages. */
  readonly where?: string | undefined;
}

/**
 * Origin of a hook. `user` includes the embedding program and managed settings. `project` and `plugin` hooks come from
 * files that others may have written.
 */
export type HookSource = "user" | "project" | "plugin";

/** Input fields that every hook receives. */
export interface HookCommon {
  readonly hook_event_name: HookEvent;
  /** Id of the root session, shared by all its agents. */
  readonly session_id: SessionId;
  readonly agent_id: AgentId;
  readonly agent_type: string;
  /** null for the main agent. */
  readonly parent_agent_id: AgentId | null;
  /** Depth in the tree of agents. The main agent has depth 0. */
  readonly depth: number;
  /** null if no transcript is kept. */
  readonly transcript_path: string | null;
  /** For SubagentStop: same value as `transcript_path`, under the name that other programs use. Otherwise absent. */
  readonly agent_transcript_path?: string | null | undefined;
  readonly cwd: string;
  readonly permission_mode: PermissionMode;
}

export interface ToolHookFacts {
  /** Name of the tool, even if the model used another of its names. */
  readonly tool_name: string;
  /**
   * Input of the call. Paths are absolute, and properties that the tool ignores are left out; everything else is as the
   * model wrote it. If a path leads through symlinks, the hook is called twice: with the path as it is named, and with
   * the path that it leads to.
   */
  readonly tool_input: JsonValue;
  readonly tool_use_id: CallId;
}

/** Additional input fields for each event. */
export interface HookFacts {
  readonly PreToolUse: ToolHookFacts;
  readonly PostToolUse: ToolHookFacts & { readonly tool_response: JsonObject; readonly duration_ms: number };
  readonly PermissionRequest: ToolHookFacts & { readonly reason: string };
  readonly Stop: {
    /** Whether a hook has already kept the agent from stopping in this run. */
    readonly stop_hook_active: boolean;
    readonly outcome: Outcome;
    /** Reason why the run ended. Only a run that ends on its own (`done`) can be continued. */
    readonly reason: string;
    readonly last_assistant_message: string;
  };
  readonly SubagentStart: { readonly run_id: RunId };
  readonly SubagentStop: {
    readonly run_id: RunId;
    readonly outcome: Outcome;
    /** Reason why the run ended, such as `done`, `max_turns` or `process_lost`. */
    readonly reason: string;
    readonly last_assistant_message: string;
  };
  readonly SessionStart: { readonly source: "startup" | "resume" };
  readonly SessionEnd: { readonly reason: string };
  readonly UserPromptSubmit: { readonly prompt: string };
  readonly Notification: { readonly message: string; readonly notification_type: string };
  readonly PreCompact: { readonly trigger: "auto" | "manual" };
}

/** A hook's answer. All fields are optional. */
export interface HookAnswer {
  /**
   * For a call: whether it may run. For Stop: `deny` keeps the agent running. For UserPromptSubmit: `deny` rejects the
   * prompt. Ignored for other events.
   */
  readonly decision?: Effect | undefined;
  /** Reason for the decision. Shown to the model if the decision affects the model. */
  readonly reason?: string | undefined;
  /** Replaces the whole input of a call. A new decision is then made on the call. */
  readonly input?: JsonObject | undefined;
  /** After a call: text that the model gets instead of the result. */
  readonly output?: string | undefined;
  /** Text for the model. */
  readonly context?: string | undefined;
  /** Message for the user. */
  readonly notice?: string | undefined;
}

/** Record of the hooks that ran for one event. */
export interface HookRecord {
  readonly event: HookEvent;
  /** Number of hooks that ran. */
  readonly ran: number;
  /** Call that the event concerns. */
  readonly callId?: CallId | undefined;
  /** Run whose start or end triggered the event. */
  readonly runId?: RunId | undefined;
  readonly decision?: Effect | undefined;
  readonly reason?: string | undefined;
  /** New input for the call. */
  readonly inputJson?: string | undefined;
  /** Text that the model gets instead of the call's result. */
  readonly output?: string | undefined;
  /** Context as it is shown to the model. */
  readonly context?: string | undefined;
}

export interface HookEntries {
  readonly hooks: readonly HookEntry[];
  readonly problems: readonly HookProblem[];
}

/** A problem with a hook entry. Unless it is an unknown key or an invalid timeout, the hook never runs. */
export interface HookProblem {
  /** Name of the event under which the entry is listed. Absent if the whole value is invalid. */
  readonly event?: string | undefined;
  readonly message: string;
  /** Unknown name of an event or key, and the names that are valid in its place. */
  readonly unknown?: { readonly name: string; readonly valid: readonly string[] } | undefined;
}

/**
 * Reads `{Event: [...]}` with entries `{matcher, hooks: [{type, command}]}`, `{matcher, command}` or `{type, command}`.
 * An entry of any other form is reported and never run, because its intent is unclear.
 */
export function readHookEntries(value: unknown, known: readonly HookEvent[] = hookEvents): HookEntries {
  const hooks: HookEntry[] = [];
  const problems: HookProblem[] = [];
  if (!isMapping(value))
    return {
      hooks,
      problems: [{ message: '"hooks" is not an object that maps events to entries, so none of these hooks run.' }],
    };
  for (const [event, entries] of Object.entries(value)) {
    const report: EntryContext["report"] = (message, unknown) => void problems.push({ event, message, unknown });
    if (!isKnown(event, known)) report(unknownEvent(event), { name: event, valid: known });
    else for (const entry of Array.isArray(entries) ? entries : [entries]) readEntry(entry, { event, hooks, report });
  }
  return { hooks, problems };
}

interface EntryContext {
  readonly event: HookEvent;
  readonly hooks: HookEntry[];
  readonly report: (message: string, unknown?: HookProblem["unknown"]) => void;
}

const groupKeys = ["matcher", "hooks"];
const handlerKeys = ["type", "command", "args", "timeout"];

function readEntry(entry: unknown, { event, hooks, report }: EntryContext): void {
  const { matcher, hooks: nested } = isMapping(entry) ? entry : {};
  if (matcher !== undefined && matcher !== null && typeof matcher !== "string") {
    report(`A matcher for "${event}" is not a string; its hooks never run.`);
    return;
  }
  const isGroup = Array.isArray(nested);
  if (isGroup) reportKeys(entry, groupKeys, { event, report });
  for (const handler of isGroup ? nested : [entry]) {
    const hook = readHandler(handler, event);
    if (typeof hook === "string") {
      report(hook);
      continue;
    }
    hooks.push({ ...hook, matcher: matcher ?? undefined });
    reportKeys(handler, isGroup ? handlerKeys : ["matcher", ...handlerKeys], { event, report });
    const { timeout } = handler as { readonly timeout?: unknown };
    if (timeout !== undefined && hook.timeoutSeconds === undefined)
      report(`The timeout of a hook for "${event}" is not a number of seconds above 0, so the default applies.`);
  }
}

function reportKeys(
  entry: unknown,
  valid: readonly string[],
  { event, report }: Pick<EntryContext, "event" | "report">,
): void {
  for (const name of Object.keys(entry as object).filter((key) => !valid.includes(key)))
    report(`The key "${name.slice(0, 40)}" in a hook for "${event}" is unknown, so it has no effect.`, { name, valid });
}

/** Returns the hook, or a description of what is wrong. */
function readHandler(handler: unknown, event: HookEvent): HookEntry | string {
  if (!isMapping(handler)) return `An entry for "${event}" has no command; it never runs.`;
  const { type, command, args, timeout } = handler;
  if (type !== undefined && type !== "command")
    return `A hook for "${event}" has the type ${shown(type)}; Retinue runs only "command" hooks.`;
  if (typeof command !== "string" || command.trim() === "")
    return `An entry for "${event}" has no command; it never runs.`;
  if (handler["if"] !== undefined)
    return `A hook for "${event}" has a condition ("if"), which Retinue does not support; the hook never runs.`;
  if (args !== undefined && !isTexts(args))
    return `The arguments of a hook for "${event}" are not a list of strings; the hook never runs.`;
  const seconds = Number(timeout);
  return {
    event,
    command,
    args,
    timeoutSeconds: seconds > 0 && Number.isFinite(seconds) ? seconds : undefined,
  };
}

function unknownEvent(event: string): string {
  const name = `"${event.slice(0, 40)}"`;
  if (isKnown(event, hookEvents))
    return `Hook event ${name} belongs in settings, not in a definition; its hooks never run.`;
  return `Unknown hook event ${name}; its hooks never run.`;
}

function isKnown(event: string, known: readonly HookEvent[]): event is HookEvent {
  return (known as readonly string[]).includes(event);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "undefined").slice(0, 40);
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
