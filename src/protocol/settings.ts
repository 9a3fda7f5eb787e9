import type { AgentBudget, CompactRule } from "./agents/definition.ts";
import type { ForkChoice } from "./agents/fork.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { CacheLifetime, Dialect, Effort } from "./model/head.ts";
import type { Prices } from "./model/usage.ts";
import type { PermissionMode, RuleScope } from "./permissions/permission.ts";

export type ModelTier = "small" | "medium" | "large";

export interface ProviderSettings {
  readonly dialect?: Dialect;
  readonly baseUrl?: string;
  /** Environment variable that contains the key; local servers need none. */
  readonly apiKeyEnv?: string;
  readonly models?: Partial<Readonly<Record<ModelTier, string>>>;
  /** Context window in tokens, for unknown models. */
  readonly window?: number;
  readonly maxOutputTokens?: number;
  /** Prices by model id. */
  readonly prices?: Readonly<Record<string, Prices>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of the output limit on an OpenAI-compatible server. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
}

export interface PermissionSettings {
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
  readonly defaultMode?: PermissionMode;
  readonly additionalDirectories?: readonly string[];
  /** Forbids the mode bypassPermissions for this machine or user. */
  readonly disableBypassPermissionsMode?: "disable";
}

export interface SubagentSettings {
  /** When subagents have MCP tools. */
  readonly mcpTools?: "always" | "foreground" | "never";
  /** Tools that subagents from files, plugins and settings never have. Lists of several scopes are combined. */
  readonly blockedTools?: readonly string[];
  /** `foreground`: foreground subagents may ask the user. */
  readonly allowQuestions?: "never" | "foreground";
  /** False: no agent runs in the background. */
  readonly background?: boolean;
  /** False: the agent that explains Retinue is not offered. */
  readonly guide?: boolean;
  /** Default model of subagents; absent: the parent's model. */
  readonly model?: string;
  /** Maximum depth of delegation. 1: only the main agent can delegate. */
  readonly maxDepth?: number;
  /** False: the model is not told that it can start several agents at once. */
  readonly parallel?: boolean;
  /** Number of agents that one user prompt may start without approval. */
  readonly maxSpawns?: number;
  /** Limit for the active time of a foreground subagent; 0: no limit. */
  readonly timeoutSeconds?: number;
  /** Maximum time without output during a request to the model. */
  readonly idleSeconds?: number;
}

/** `auto`: use a sandbox if the system has one. `require`: run no command without one. */
export type SandboxMode = "auto" | "require" | "off";

export interface SandboxSettings {
  readonly mode?: SandboxMode;
  /** Hosts that commands can reach by HTTP; none if absent. `*.example.com` matches every subdomain. */
  readonly network?: { readonly allowedDomains?: readonly string[] };
  /** Directories outside the workspace that commands can write to; `~/` is the home directory. */
  readonly filesystem?: { readonly allowWrite?: readonly string[] };
}

export interface SearchSettings {
  readonly engine: "searxng" | "brave" | "anthropic" | "off";
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
}

export interface BackgroundSettings {
  /** `deny`: calls of background agents that need approval are denied, even if an approver is available. */
  readonly approvals?: "inbox" | "deny";
  /** True: a background agent asks for approval of everything that its definition lists once, before it starts. */
  readonly preapprove?: boolean;
  /** How long an otherwise finished run waits for background agents before they are stopped; absent: no limit. */
  readonly waitSeconds?: number;
}

/** Default timeouts of one call, in seconds. The call or the MCP server can override them. */
export interface ToolTimeouts {
  readonly bash?: number;
  readonly webFetch?: number;
  readonly mcp?: number;
}

export interface StatusLineSettings {
  readonly type?: "command";
  /** Run with sh in the workspace. The first line of its output is shown. */
  readonly command: string;
  /** Spaces before the line. */
  readonly padding?: number;
}

export interface Settings {
  readonly provider?: string;
  readonly model?: string;
  readonly effort?: Effort;
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  readonly permissions?: PermissionSettings;
  readonly search?: SearchSettings;
  /** Sandbox for commands of the model. Project settings cannot change it. */
  readonly sandbox?: SandboxMode | SandboxSettings;
  /** Command that prints the status line of the terminal interface. */
  readonly statusLine?: StatusLineSettings;
  readonly maxTurns?: number;
  readonly timeouts?: ToolTimeouts;
  /** Whether an agent that changed files is advised to have its work verified, or that is done automatically. */
  readonly verify?: "off" | "suggest" | "auto";
  /** Budget of the session with all its agents. Project settings can only lower it. */
  readonly budget?: AgentBudget;
  readonly cleanupPeriodDays?: number;
  /** Environment variables for the session and the processes it starts. */
  readonly env?: Readonly<Record<string, string>>;
  /** Maps events to entries, as written. */
  readonly hooks?: JsonObject;
  /** True: no hooks from files are run. */
  readonly disableAllHooks?: boolean;
  /** Maps names to definitions, as written. */
  readonly agents?: JsonObject;
  /** `compact`: two built-in agents for short tasks, and tight limits for all others. */
  readonly profile?: "standard" | "compact";
  readonly subagents?: SubagentSettings;
  readonly background?: BackgroundSettings;
  /** Whether agents can fork, i.e. start a copy of themselves that continues their conversation. */
  readonly fork?: ForkChoice;
  /** Maps names to configurations, as in `.mcp.json`. */
  readonly mcpServers?: Readonly<Record<string, JsonObject>>;
  readonly cache?: {
    /** How long the provider is asked to cache the main agent's conversation, if it supports that. */
    readonly lifetime?: CacheLifetime;
  };
  readonly compaction?: {
    /** Percentage of the context window at which a conversation is compacted, 1 to 100. */
    readonly percent?: number;
  };
}

/** Default of `subagents.maxSpawns`. */
export const DEFAULT_MAX_SPAWNS = 100;

/** From lowest to highest precedence. */
export const settingsScopes = ["user", "project", "local", "environment", "flag", "managed"] as const;
export type SettingsScope = (typeof settingsScopes)[number];

/** Origin of one value. */
export interface SettingsOrigin {
  /** Path of the value, such as `permissions.deny[0]`. */
  readonly path: string;
  readonly value: JsonValue;
  readonly scope: SettingsScope;
  /** Absent if the value is not from a file. */
  readonly file?: string | undefined;
}

/** A line of a `permissions.jsonc` file, with its origin. */
export interface ScopedCompactRule extends CompactRule {
  readonly scope: RuleScope;
  readonly file: string;
}
