import type { CommandFact, EndedNotice, RunRef } from "../events/outcome.ts";
import type { CallId } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import type { ResultBlock } from "../model/message.ts";
import type { Usage } from "../model/usage.ts";

/** A tool call. Its input is the JSON text that the model wrote. */
export interface ToolCall {
  readonly callId: CallId;
  readonly name: string;
  readonly inputJson: string;
}

/**
 * Outcome of a call. Every call has exactly one outcome. `unknown`: the process died after the call began and before
 * its end was recorded.
 */
export type CallOutcome = "ok" | "error" | "denied" | "cancelled" | "timeout" | "unknown";

export interface ToolResult {
  readonly outcome: CallOutcome;
  /** Content for the model, already truncated to the limit. */
  readonly content: readonly ResultBlock[];
  /** Data for user interfaces, shown next to the text. */
  readonly details?: JsonObject | undefined;
  readonly facts?: ToolFacts | undefined;
}

export interface ToolFacts {
  readonly filesChanged?: readonly string[] | undefined;
  /** Files that the call may have changed, because its tool had not finished when it was ended. */
  readonly mayHaveChanged?: readonly string[] | undefined;
  /** Previous state of the file that the call changed, so that the user can restore it. */
  readonly image?: FileImage | undefined;
  /** Protected files that a command changed although no rule permits it. */
  readonly trespasses?: readonly FileImage[] | undefined;
  readonly command?: CommandFact | undefined;
  /** Background run that the call started. */
  readonly launched?: RunRef | undefined;
  /** End of the subagent that worked on the call. */
  readonly agent?: EndedNotice | undefined;
  /** End of a background agent whose report the call returned. The agent's parent does not need to be notified about it. */
  readonly reported?: EndedNotice | undefined;
  /** Cost of the call itself, if it used a model. The tool must declare this in its traits. */
  readonly spent?: { readonly usage: Usage; readonly costUsd?: number | undefined };
}

/** State of a file before a call changed it. */
export interface FileImage {
  /** Real path of the file. */
  readonly path: string;
  /** Address of the previous content. Null if the call created the file; undefined if the content could not be kept. */
  readonly before?: string | null | undefined;
  /** SHA-256 of the content that the call wrote. Null if the call deleted the file. */
  readonly after: string | null;
}

/** Tools that a definition requested, and the tools that its agent got. */
export interface ToolReport {
  /** Whether the definition requests all tools, because it has no list or a list with `*`. */
  readonly hasWildcard: boolean;
  /** Entries that name an available tool, as written. */
  readonly validTools: readonly string[];
  readonly invalidTools: readonly string[];
  /** Canonical names of the agent's tools. */
  readonly resolvedTools: readonly string[];
  /** Requested tools that the agent did not get, with the reason. */
  readonly withheld?: readonly { readonly tool: string; readonly why: string }[] | undefined;
}

/** Canonical tool names with their aliases. Definitions, rules and hooks may use any of these names. */
const aliases = {
  Read: ["read_file", "FileRead", "read", "View"],
  Write: ["FileWrite", "write_file", "write"],
  Edit: ["FileEdit", "edit_file", "edit", "MultiEdit", "multiedit", "replace", "patch", "apply_patch"],
  NotebookEdit: ["notebook_edit"],
  Bash: ["bash", "shell", "run_shell_command"],
  BashOutput: ["bash_output"],
  KillShell: ["kill_shell", "KillBash"],
  Grep: ["grep", "search_file_content", "grep_search"],
  Glob: ["glob", "find_files"],
  LS: ["list_dir", "ls", "list_directory", "list"],
  TodoWrite: ["todo_write", "todowrite"],
  WebFetch: ["web_fetch", "webfetch"],
  WebSearch: ["web_search", "websearch", "google_web_search"],
  Task: ["Agent", "task", "agent"],
  TaskOutput: ["AgentOutputTool", "task_output", "AgentOutput"],
  TaskStop: ["task_stop"],
  SendMessage: ["send_message"],
  Skill: ["skill"],
  EnterPlanMode: ["enter_plan_mode"],
  ExitPlanMode: ["exit_plan_mode"],
  AskUserQuestion: ["ask_user_question", "AskUser"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Name of a built-in tool. */
export type BuiltInToolName = keyof typeof aliases;

/** Name of a tool, or a rule such as `Bash(npm test)`. Editors suggest the names of built-in tools. */
export type ToolText = BuiltInToolName | (string & {});

/** Canonical names of all built-in tools. */
export const toolNames: readonly string[] = Object.keys(aliases);

const canonical = new Map<string, string>();
for (const [name, others] of Object.entries(aliases)) {
  canonical.set(name, name);
  for (const other of others) canonical.set(other, name);
}

/** Returns the canonical name of a tool. Unknown names, such as those of MCP tools, are returned unchanged. */
export function canonicalToolName(name: string): string {
  return canonical.get(name) ?? name;
}

/** A kind of access that rules are about, whichever tool, command or redirection makes it. */
export type RuledAccess = "read" | "write" | "network";

/**
 * The kind of access that a rule with a specifier is about, by the tool that it names. A rule such as `Write(src/**)`
 * applies to everything that writes.
 */
const ruledAccesses: ReadonlyMap<string, RuledAccess> = new Map([
  ["Read", "read"],
  ["Grep", "read"],
  ["Glob", "read"],
  ["LS", "read"],
  ["Edit", "write"],
  ["Write", "write"],
  ["NotebookEdit", "write"],
  ["WebFetch", "network"],
]);

/** Returns the kind of access that a rule with a specifier is about. `tool` is a canonical name. */
export function ruledAccess(tool: string): RuledAccess | undefined {
  return ruledAccesses.get(tool);
}

/**
 * Names that stand for their kind of access even without a specifier: `Edit` is everything that writes, as `edit` is in
 * opencode. The other names stand for one tool.
 */
const kindNames: ReadonlySet<string> = new Set(["Edit"]);

/** Returns the kind of access that a canonical name stands for in rules; undefined if it stands for one tool. */
export function accessNamed(tool: string): RuledAccess | undefined {
  return kindNames.has(tool) ? ruledAccess(tool) : undefined;
}

/** Returns the texts of the rules for a line of a `permission` field or a `permissions.jsonc` file. */
export function textsOfLine(tool: string, pattern: string | undefined): readonly string[] {
  const name = canonicalToolName(tool);
  if (pattern === undefined) return [name];
  if (!isWholePattern(pattern)) return [`${name}(${pattern})`];
  // Patterns are about files and hosts, so `*` means all of them, whichever tool uses them.
  if (ruledAccess(name) === "write") return ["Edit"];
  if (name === "WebFetch") return [name, "WebFetch(domain:*)"];
  return name === "Read" ? [name, "Read(*)"] : [name];
}

/**
 * Returns whether a key of a `permission` field or a `permissions.jsonc` file is a pattern for files, which belongs
 * below a tool: no name of a tool contains a dot or a slash, except for names from MCP servers.
 */
export function isFilePattern(tool: string): boolean {
  return /[./]/.test(tool) && !tool.startsWith("mcp__");
}

/** Returns whether a pattern in a `permission` field or a `permissions.jsonc` file covers everything. */
export function isWholePattern(pattern: string | undefined): boolean {
  return pattern === undefined || pattern === "*" || pattern === "**";
}

/**
 * Tools that compatible programs have, but Retinue does not. Rules that name them are not reported as mistakes, but
 * never match.
 */
const toolsElsewhere: ReadonlySet<string> = new Set([
  "Artifact",
  "EndConversation",
  "EnterWorktree",
  "ExitWorktree",
  "Monitor",
  "NotebookRead",
  "PowerShell",
  "ScheduleWakeup",
  "SlashCommand",
  "TodoRead",
  "ToolSearch",
  "WaitForMcpServers",
  "Workflow",
]);

/**
 * Returns whether a rule or a list may use this name, that is, whether it names a tool, an MCP tool or a tool of a
 * compatible program, or is a pattern.
 */
export function isKnownTool(name: string): boolean {
  return canonical.has(name) || name.startsWith("mcp__") || name.includes("*") || toolsElsewhere.has(name);
}

/** The only built-in tools that background agents can have. */
export const backgroundTools: ReadonlySet<string> = new Set([
  "Read",
  "LS",
  "Grep",
  "Glob",
  "WebSearch",
  "WebFetch",
  "TodoWrite",
  "Bash",
  "BashOutput",
  "KillShell",
  "Edit",
  "Write",
  "NotebookEdit",
  "Skill",
]);

/** Returns a result that consists of a single text. */
export function textResult(outcome: CallOutcome, text: string): ToolResult {
  return { outcome, content: [{ type: "text", text }] };
}
