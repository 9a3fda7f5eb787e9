import type { HookEntry } from "../hooks/hook.ts";
import type { JsonObject, JsonSchema } from "../json.ts";
import type { Effort } from "../model/head.ts";
import type { Effect, PermissionMode } from "../permissions/permission.ts";

/**
 * Sources of definitions, from lowest to highest precedence. If two definitions have the same name, the one from the
 * source with the higher precedence is used.
 */
export const definitionSources = ["built-in", "plugin", "user", "project", "flag", "policy"] as const;
export type DefinitionSource = (typeof definitionSources)[number];

/** A line of a `permission` field or a `permissions.jsonc` file. The order of lines matters. */
export interface CompactRule {
  readonly tool: string;
  /** If absent, the line applies to the whole tool. */
  readonly pattern?: string | undefined;
  readonly effect: Effect;
}

export interface AgentBudget {
  readonly tokens?: number | undefined;
  readonly usd?: number | undefined;
  readonly turns?: number | undefined;
  readonly seconds?: number | undefined;
  readonly spawns?: number | undefined;
  readonly concurrent?: number | undefined;
}

/** An MCP server that an agent uses: a configured server by name, or the agent's own server if `config` is set. */
export interface McpServerUse {
  readonly name: string;
  readonly config?: JsonObject | undefined;
  /** File and line of the configuration, for messages. */
  readonly where?: string | undefined;
}

/** Colors in which agents can be shown. */
export const agentColors = ["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"] as const;
export type AgentColor = (typeof agentColors)[number];

/** An agent file without its body, so that a large catalog fits in memory. */
export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  readonly source: DefinitionSource;
  /** Absolute path of the file. Absent if the definition is not in a file. */
  readonly file?: string | undefined;
  readonly plugin?: string | undefined;
  /**
   * Tools as written, including specifiers. If absent, the agent inherits all tools. If empty, the agent has no tools.
   */
  readonly tools?: readonly string[] | undefined;
  readonly disallowedTools?: readonly string[] | undefined;
  readonly requiredTools?: readonly string[] | undefined;
  /** Model as written: an alias, an id or `inherit`. */
  readonly model?: string | undefined;
  readonly effort?: Effort | undefined;
  readonly permissionMode?: PermissionMode | undefined;
  readonly permission?: readonly CompactRule[] | undefined;
  /** Actions that a built-in agent may take without approval, such as fetching certain sites. Files can't set this. */
  readonly grants?: readonly string[] | undefined;
  readonly maxTurns?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly contextTokens?: number | undefined;
  readonly budget?: AgentBudget | undefined;
  /** Command that must succeed for the work to be accepted. */
  readonly acceptance?: string | undefined;
  /** JSON Schema of the agent's report when it works as a subagent. */
  readonly outputSchema?: JsonSchema | undefined;
  /** Color in which the agent is shown. */
  readonly color?: AgentColor | undefined;
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
  /** If true, the agent is not offered for delegation, but can be used by name. */
  readonly hidden?: boolean | undefined;
  /** Unknown fields, kept as written. */
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
  /** If false, only the user or a definition can invoke the skill. */
  readonly modelInvocable: boolean;
  /** Set if the skill runs as a subagent. Otherwise its text is given to the agent that calls it. */
  readonly fork?: SkillFork | undefined;
  readonly extra?: JsonObject | undefined;
}

/** The subagent that runs a skill. */
export interface SkillFork {
  /** Type of the subagent. */
  readonly agent: string;
  readonly model?: string | undefined;
  /** Whether the subagent works in the background. */
  readonly background?: boolean | undefined;
}

/** Alternative names of built-in agents. */
export const agentAliases: Readonly<Record<string, string>> = {
  general: "general-purpose",
  explore: "Explore",
  "claude-code-guide": "retinue-guide",
};

/** Name of the built-in agent that verifies the work of other agents. */
export const VERIFIER = "Verification";

/** Returns whether two names refer to the same agent. Resolves aliases and ignores case. */
export function isSameAgent(left: string, right: string): boolean {
  return folded(left) === folded(right);
}

function folded(name: string): string {
  const meant = Object.hasOwn(agentAliases, name.toLowerCase()) ? agentAliases[name.toLowerCase()] : name;
  return (meant ?? name).toLowerCase();
}

/** A problem in a definition file, for its author. */
export interface Diagnostic {
  /** `error`: the file was not loaded. `warning`: it was loaded, but might not do what its author expects. */
  readonly severity: "error" | "warning" | "notice";
  readonly file: string;
  /** Line number, starting at 1. */
  readonly line: number;
  /** Stable identifier for programs, such as `unknown_tool`. */
  readonly code: string;
  readonly message: string;
  /** Suggested change. */
  readonly fix?: string | undefined;
  /**
   * Name of the agent that has the problem, if the file can define several agents. If absent, the problem concerns the
   * whole file.
   */
  readonly agent?: string | undefined;
  /** Name that is not a tool, for the code `unknown_tool`. A program may define a tool with this name. */
  readonly tool?: string | undefined;
}

/** Code of diagnostics about hooks and MCP servers that wait for the user's approval. */
export const UNAPPROVED = "not_approved";
