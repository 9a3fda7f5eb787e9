import type { HookEntry } from "../hooks/hook.ts";
import type { JsonObject } from "../json.ts";
import type { Effort } from "../model/head.ts";
import type { Effect, PermissionMode } from "../permissions/permission.ts";

/** From lowest to highest precedence: of two definitions with one name, the higher source wins. */
export const definitionSources = ["built-in", "plugin", "user", "project", "flag", "policy"] as const;
export type DefinitionSource = (typeof definitionSources)[number];

/** A line of the compact `permission` form. The order of lines matters. */
export interface CompactRule {
  readonly tool: string;
  /** Absent: the line is about the whole tool. */
  readonly pattern?: string | undefined;
  readonly effect: Effect;
}

export interface AgentBudget {
  readonly tokens?: number;
  readonly usd?: number;
  readonly turns?: number;
  readonly seconds?: number;
  readonly spawns?: number;
  readonly concurrent?: number;
}

/** An MCP server that an agent uses: a configured one by name, or its own if `config` is set. */
export interface McpServerUse {
  readonly name: string;
  readonly config?: JsonObject | undefined;
}

/** An agent file without its body: small enough to keep for every agent of a large catalog. */
export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  readonly source: DefinitionSource;
  /** Absolute path; absent if the definition is not in a file. */
  readonly file?: string | undefined;
  readonly plugin?: string | undefined;
  /** As written, including specifiers. Absent: inherit all tools. Empty: none. */
  readonly tools?: readonly string[] | undefined;
  readonly disallowedTools?: readonly string[] | undefined;
  readonly requiredTools?: readonly string[] | undefined;
  /** As written: an alias, an id or `inherit`. */
  readonly model?: string | undefined;
  readonly effort?: Effort | undefined;
  readonly permissionMode?: PermissionMode | undefined;
  readonly permission?: readonly CompactRule[] | undefined;
  /** Rules of a built-in agent that need no approval, such as sites it may fetch. Files can't set this. */
  readonly grants?: readonly string[] | undefined;
  readonly maxTurns?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly contextTokens?: number | undefined;
  readonly budget?: AgentBudget | undefined;
  /** Command that must succeed for the work to be accepted. */
  readonly acceptance?: string | undefined;
  readonly color?: string | undefined;
  readonly background?: boolean | undefined;
  readonly memory?: "user" | "project" | "local" | undefined;
  readonly skills?: readonly string[] | undefined;
  readonly mcpServers?: readonly McpServerUse[] | undefined;
  readonly hooks?: readonly HookEntry[] | undefined;
  readonly isolation?: "worktree" | undefined;
  readonly omitProjectContext?: boolean | undefined;
  readonly forkContext?: boolean | undefined;
  readonly criticalReminder?: string | undefined;
  readonly initialPrompt?: string | undefined;
  /** Not offered for delegation, but can be used by name. */
  readonly hidden?: boolean | undefined;
  /** Unknown fields, unchanged. */
  readonly extra?: JsonObject | undefined;
}

/** A skill's SKILL.md without its body. */
export interface SkillDefinition {
  readonly name: string;
  readonly description: string;
  readonly source: DefinitionSource;
  readonly file: string;
  readonly plugin?: string | undefined;
  readonly allowedTools?: readonly string[] | undefined;
  /** False: only the user or a definition can invoke it. */
  readonly modelInvocable: boolean;
  /** Set if the skill runs as a subagent instead of giving its text to the agent that calls it. */
  readonly fork?: SkillFork | undefined;
  readonly extra?: JsonObject | undefined;
}

/** The subagent that a skill runs as. */
export interface SkillFork {
  /** Agent type. */
  readonly agent: string;
  readonly model?: string | undefined;
}

/** Alternative names of built-in agents. */
export const agentAliases: Readonly<Record<string, string>> = {
  general: "general-purpose",
  explore: "Explore",
  "claude-code-guide": "retinue-guide",
};

/** Built-in agent that verifies the work of others. */
export const VERIFIER = "Verification";

/** Returns whether two names mean the same agent: resolves aliases and ignores case. */
export function isSameAgent(left: string, right: string): boolean {
  return folded(left) === folded(right);
}

function folded(name: string): string {
  const meant = Object.hasOwn(agentAliases, name.toLowerCase()) ? agentAliases[name.toLowerCase()] : name;
  return (meant ?? name).toLowerCase();
}

/** A problem in a definition file, for its author. */
export interface Diagnostic {
  /** `error`: the file was not loaded. `warning`: it was loaded, but may not do what its author expects. */
  readonly severity: "error" | "warning" | "notice";
  readonly file: string;
  /** Starts at 1. */
  readonly line: number;
  /** Stable identifier for programs, such as `unknown_tool`. */
  readonly code: string;
  readonly message: string;
  /** Suggested change. */
  readonly fix?: string | undefined;
  /** Agent that it is about, if the file can define several; absent: whatever the file defines. */
  readonly agent?: string | undefined;
}
