import type { Effort } from "./head.ts";
import type { HookEntry } from "./hook.ts";
import type { JsonObject } from "./json.ts";
import type { Effect, PermissionMode } from "./permission.ts";

/** Lowest to highest: a higher source wins by name. */
export const definitionSources = ["built-in", "plugin", "user", "project", "flag", "policy"] as const;
export type DefinitionSource = (typeof definitionSources)[number];

/** One line of the compact form; written order counts. */
export interface CompactRule {
  readonly tool: string;
  /** Absent: every use of the tool. */
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

/** By the name of a configured server, or with a configuration of its own. */
export interface McpServerUse {
  readonly name: string;
  readonly config?: JsonObject | undefined;
}

/** What an agent file says, without its body: small enough to keep for every agent of a large catalog. */
export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  readonly source: DefinitionSource;
  /** Absolute path; undefined for what is not in a file. */
  readonly file?: string | undefined;
  readonly plugin?: string | undefined;
  /** As written, specifiers included. Undefined: inherit all. Empty: none. */
  readonly tools?: readonly string[] | undefined;
  readonly disallowedTools?: readonly string[] | undefined;
  readonly requiredTools?: readonly string[] | undefined;
  /** As written: an alias, an id, `inherit`. */
  readonly model?: string | undefined;
  readonly effort?: Effort | undefined;
  readonly permissionMode?: PermissionMode | undefined;
  readonly permission?: readonly CompactRule[] | undefined;
  readonly maxTurns?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly contextTokens?: number | undefined;
  readonly budget?: AgentBudget | undefined;
  /** A command whose success makes the work verified. */
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
  /** Reachable by name, but not offered for delegation. */
  readonly hidden?: boolean | undefined;
  /** Fields nobody here knows, kept as they were. */
  readonly extra?: JsonObject | undefined;
}

/** What a skill's SKILL.md says, without its body. */
export interface SkillDefinition {
  readonly name: string;
  readonly description: string;
  readonly source: DefinitionSource;
  readonly file: string;
  readonly plugin?: string | undefined;
  readonly allowedTools?: readonly string[] | undefined;
  /** False: only a person or a definition may name it. */
  readonly modelInvocable: boolean;
  readonly extra?: JsonObject | undefined;
}
