import type { AgentBudget, CompactRule } from "./definition.ts";
import type { ForkChoice } from "./fork.ts";
import type { CacheLifetime, Dialect, Effort } from "./head.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { PermissionMode, RuleScope } from "./permission.ts";
import type { Prices } from "./usage.ts";

export type ModelTier = "small" | "medium" | "large";

export interface ProviderSettings {
  readonly dialect?: Dialect;
  readonly baseUrl?: string;
  /** Name of the environment variable that holds the key; local servers need none. */
  readonly apiKeyEnv?: string;
  readonly models?: Partial<Readonly<Record<ModelTier, string>>>;
  /** Context window in tokens, for models we don't know. */
  readonly window?: number;
  readonly maxOutputTokens?: number;
  /** By model id. */
  readonly prices?: Readonly<Record<string, Prices>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** What an OpenAI-compatible server calls the output limit. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
}

export interface PermissionSettings {
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
  readonly defaultMode?: PermissionMode;
  readonly additionalDirectories?: readonly string[];
  /** Nobody may switch questions off for this machine or user. */
  readonly disableBypassPermissionsMode?: "disable";
}

export interface SubagentSettings {
  /** When subagents have the tools of MCP servers. */
  readonly mcpTools?: "always" | "foreground" | "never";
  /** Tools that agents of files, plugins and settings never have, beside what no subagent has. Lists add up. */
  readonly blockedTools?: readonly string[];
  /** `foreground`: a subagent that somebody waits for may ask the person. */
  readonly allowQuestions?: "never" | "foreground";
  /** False: nothing runs in the background. */
  readonly background?: boolean;
  /** False: the agent that explains this program is not offered. */
  readonly guide?: boolean;
  /** Which model subagents have unless their definition or the call says; absent: that of the agent they work for. */
  readonly model?: string;
  /** How deep delegation goes: 1 lets the main agent delegate and nobody else. */
  readonly maxDepth?: number;
  /** False: the model is not told that it may start several at once. */
  readonly parallel?: boolean;
  /** Agents that one prompt of a person may start before somebody has to agree. */
  readonly maxSpawns?: number;
  /** Active time of a foreground subagent; 0: no limit. */
  readonly timeoutSeconds?: number;
  /** How long a model may be silent in the middle of a request. */
  readonly idleSeconds?: number;
}

/** `auto`: where the system has one. `require`: no command runs without. */
export type SandboxMode = "auto" | "require" | "off";

export interface SandboxSettings {
  readonly mode?: SandboxMode;
  /** Hosts that commands may reach by HTTP; none if absent. `*.example.com` is every host below that one. */
  readonly network?: { readonly allowedDomains?: readonly string[] };
  /** Directories that commands may write beside the workspace; `~/` is the home directory. */
  readonly filesystem?: { readonly allowWrite?: readonly string[] };
}

export interface SearchSettings {
  readonly engine: "searxng" | "brave" | "anthropic" | "off";
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
}

export interface BackgroundSettings {
  /** `deny`: what agents in the background would have to ask is denied, also where somebody answers. */
  readonly approvals?: "inbox" | "deny";
  /** True: before one starts it is asked once for what its definition lists. */
  readonly preapprove?: boolean;
  /** How long a run that has nothing else to do waits for them before they are ended; absent: as long as they work. */
  readonly waitSeconds?: number;
}

/** Seconds that one call may take, unless the call or the server says otherwise. */
export interface ToolTimeouts {
  readonly bash?: number;
  readonly webFetch?: number;
  readonly mcp?: number;
}

export interface Settings {
  readonly provider?: string;
  readonly model?: string;
  readonly effort?: Effort;
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  readonly permissions?: PermissionSettings;
  readonly search?: SearchSettings;
  /** For commands that a model wrote. No project can say anything about it. */
  readonly sandbox?: SandboxMode | SandboxSettings;
  readonly maxTurns?: number;
  readonly timeouts?: ToolTimeouts;
  /** Whether an agent that changed files is told that somebody could try to break its work, or that happens by itself. */
  readonly verify?: "off" | "suggest" | "auto";
  /** For the session with all its agents. A project's file can only lower it. */
  readonly budget?: AgentBudget;
  readonly cleanupPeriodDays?: number;
  /** Variables for the session and for what it starts. */
  readonly env?: Readonly<Record<string, string>>;
  /** Event to entries, as written. */
  readonly hooks?: JsonObject;
  /** No command of a file is run as a hook. */
  readonly disableAllHooks?: boolean;
  /** Name to definition, as written. */
  readonly agents?: JsonObject;
  /** `compact`: two built-in agents for short jobs, and tight limits for all others. */
  readonly profile?: "standard" | "compact";
  readonly subagents?: SubagentSettings;
  readonly background?: BackgroundSettings;
  /** Whether agents may fork: start a copy of themselves that knows all they know. */
  readonly fork?: ForkChoice;
  /** Name to configuration, as in `.mcp.json`. */
  readonly mcpServers?: Readonly<Record<string, JsonObject>>;
  readonly cache?: {
    /** How long the provider is asked to keep the main agent's conversation, where that can be chosen. */
    readonly lifetime?: CacheLifetime;
  };
  readonly compaction?: {
    /** Share of the window at which a conversation is compacted, 1 to 100. */
    readonly percent?: number;
  };
}

/** Of `subagents.maxSpawns`. */
export const DEFAULT_MAX_SPAWNS = 100;

/** Lowest to highest: a higher scope wins. */
export const settingsScopes = ["user", "project", "local", "environment", "flag", "managed"] as const;
export type SettingsScope = (typeof settingsScopes)[number];

/** Where one value comes from. */
export interface SettingsOrigin {
  /** `permissions.deny[0]` */
  readonly path: string;
  readonly value: JsonValue;
  readonly scope: SettingsScope;
  /** Absent for what is in no file. */
  readonly file?: string;
}

/** A line of a `permissions.jsonc`, with where it stands. */
export interface ScopedCompactRule extends CompactRule {
  readonly scope: RuleScope;
  readonly file: string;
}
