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
  readonly pattern?: string;
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
  readonly config?: JsonObject;
}

/** What an agent file says, without its body: small enough to keep for every agent of a large catalog. */
export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  readonly source: DefinitionSource;
  /** Absolute path; undefined for what is not in a file. */
  readonly file?: string;
  readonly plugin?: string;
  /** As written, specifiers included. Undefined: inherit all. Empty: none. */
  readonly tools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly requiredTools?: readonly string[];
  /** As written: an alias, an id, `inherit`. */
  readonly model?: string;
  readonly effort?: Effort;
  readonly permissionMode?: PermissionMode;
  readonly permission?: readonly CompactRule[];
  readonly maxTurns?: number;
  readonly timeoutMs?: number;
  readonly contextTokens?: number;
  readonly budget?: AgentBudget;
  /** A command whose success makes the work verified. */
  readonly acceptance?: string;
  readonly color?: string;
  readonly background?: boolean;
  readonly memory?: "user" | "project" | "local";
  readonly skills?: readonly string[];
  readonly mcpServers?: readonly McpServerUse[];
  readonly hooks?: readonly HookEntry[];
  readonly isolation?: "worktree";
  readonly omitProjectContext?: boolean;
  readonly forkContext?: boolean;
  readonly criticalReminder?: string;
  readonly initialPrompt?: string;
  /** Reachable by name, but not offered for delegation. */
  readonly hidden?: boolean;
  /** Fields nobody here knows, kept as they were. */
  readonly extra?: JsonObject;
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
