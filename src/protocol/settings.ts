import type { AgentBudget, CompactRule } from "./agents/definition.ts";
import type { ForkChoice } from "./agents/fork.ts";
import type { HookEvent } from "./hooks/hook.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { CacheLifetime, Dialect, Effort } from "./model/head.ts";
import type { Prices } from "./model/usage.ts";
import type { PermissionMode, RuleScope } from "./permissions/permission.ts";

export type ModelTier = "small" | "medium" | "large";

export interface ProviderSettings {
  readonly dialect?: Dialect;
  readonly baseUrl?: string;
  /** Name of the environment variable that contains the API key. Local servers need none. */
  readonly apiKeyEnv?: string;
  readonly models?: Partial<Readonly<Record<ModelTier, string>>>;
  /** Context window in tokens, used for models that Retinue does not know. */
  readonly window?: number;
  readonly maxOutputTokens?: number;
  /** Prices by model id. */
  readonly prices?: Readonly<Record<string, Prices>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of the field for the output limit on an OpenAI-compatible server. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
}

export interface PermissionSettings {
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
  readonly defaultMode?: PermissionMode;
  readonly additionalDirectories?: readonly string[];
  /** Forbids the bypassPermissions mode for this machine or user. */
  readonly disableBypassPermissionsMode?: "disable";
}

export interface SubagentSettings {
  /** Determines which subagents get MCP tools. */
  readonly mcpTools?: "always" | "foreground" | "never";
  /** Tools that subagents from files, plugins and settings can't have. The lists from all scopes are combined. */
  readonly blockedTools?: readonly string[];
  /** `foreground`: foreground subagents may ask the user. */
  readonly allowQuestions?: "never" | "foreground";
  /** If false, no agent runs in the background. */
  readonly background?: boolean;
  /** If false, the agent that explains Retinue is not offered. */
  readonly guide?: boolean;
  /** Default model of subagents. If absent, the parent's model is used. */
  readonly model?: string;
  /** Maximum depth of delegation. If 1, only the main agent can delegate. */
  readonly maxDepth?: number;
  /** If false, the model is not told that it can start several agents at once. */
  readonly parallel?: boolean;
  /** Number of agents that one user prompt may start without approval. */
  readonly maxSpawns?: number;
  /** Limit on the active time of a foreground subagent, in seconds. 0 means no limit. */
  readonly timeoutSeconds?: number;
  /** Maximum time without output from the model during a request. */
  readonly idleSeconds?: number;
}

/** `auto`: use a sandbox if the system has one. `require`: run no command without one. */
export type SandboxMode = "auto" | "require" | "off";

export interface SandboxSettings {
  readonly mode?: SandboxMode;
  /**
   * Hosts that commands can reach over HTTP. If absent, they can reach none. `*.example.com` matches every subdomain.
   */
  readonly network?: { readonly allowedDomains?: readonly string[] };
  /** Directories outside the workspace to which commands can write. `~/` stands for the home directory. */
  readonly filesystem?: { readonly allowWrite?: readonly string[] };
}

export interface EnvironmentSettings {
  /** Names of variables that commands get besides harmless ones. `APP_*` matches every name that begins with `APP_`. */
  readonly pass?: readonly string[];
}

export interface SearchSettings {
  readonly engine: "searxng" | "brave" | "anthropic" | "off";
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
}

export interface BackgroundSettings {
  /** `deny`: a background agent's calls that need approval are denied, even if an approver is available. */
  readonly approvals?: "inbox" | "deny";
  /**
   * If true, the user is asked once, before a background agent starts, to approve everything that the agent's
   * definition lists.
   */
  readonly preapprove?: boolean;
  /**
   * Time that an otherwise finished run waits for background agents before it stops them. If absent, there is no limit.
   */
  readonly waitSeconds?: number;
}

/** Default timeouts for a single call, in seconds. The call or the MCP server can override them. */
export interface ToolTimeouts {
  readonly bash?: number;
  readonly webFetch?: number;
  readonly mcp?: number;
}

export interface StatusLineSettings {
  readonly type?: "command";
  /** Command that is run with sh in the workspace. The first line of its output is shown. */
  readonly command: string;
  /** Number of spaces before the line. */
  readonly padding?: number;
}

/** Hook commands by event, as in a settings file. */
export type HookSettings = {
  readonly [Event in HookEvent]?: readonly ((HookCommand & { readonly matcher?: string }) | HookGroup)[];
};

/** Hook commands that share a matcher. */
interface HookGroup {
  /** Tools, agent types or other subjects of the event to match; all if absent. */
  readonly matcher?: string;
  readonly hooks: readonly HookCommand[];
}

/** A command that runs as a hook. */
export interface HookCommand {
  readonly type?: "command";
  readonly command: string;
  /** Arguments of the program `command`. If absent, `command` is a shell command line. */
  readonly args?: readonly string[];
  /** Timeout in seconds. */
  readonly timeout?: number;
}

/** Settings, as in a settings file. */
export interface Settings {
  readonly provider?: string;
  readonly model?: string;
  readonly effort?: Effort;
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  readonly permissions?: PermissionSettings;
  readonly search?: SearchSettings;
  /** Sandbox for the model's commands. Project settings can't change it. */
  readonly sandbox?: SandboxMode | SandboxSettings;
  /** Command that prints the status line of the terminal interface. */
  readonly statusLine?: StatusLineSettings;
  readonly maxTurns?: number;
  readonly timeouts?: ToolTimeouts;
  /**
   * Whether work that changed files is verified. `suggest`: the agent is advised to have it verified. `auto`: it is
   * verified automatically.
   */
  readonly verify?: "off" | "suggest" | "auto";
  /** Budget of the session and all its agents. Project settings can only lower it. */
  readonly budget?: AgentBudget;
  readonly cleanupPeriodDays?: number;
  /** Environment variables that commands get. Project settings can't change this. */
  readonly environment?: EnvironmentSettings;
  /** Environment variables for the session and the processes it starts. */
  readonly env?: Readonly<Record<string, string>>;
  /** Hook commands by event. Entries that can't be used are reported. */
  readonly hooks?: HookSettings | JsonObject;
  /** If true, hooks from files are not run. */
  readonly disableAllHooks?: boolean;
  /** Agent definitions by name, as written. */
  readonly agents?: JsonObject;
  /** `compact`: two built-in agents for short tasks, and tight limits for all other agents. */
  readonly profile?: "standard" | "compact";
  readonly subagents?: SubagentSettings;
  readonly background?: BackgroundSettings;
  /** Whether agents can fork, that is, start a copy of themselves that continues their conversation. */
  readonly fork?: ForkChoice;
  /** Server configurations by name, as in `.mcp.json`. */
  readonly mcpServers?: Readonly<Record<string, JsonObject>>;
  readonly cache?: {
    /** Requested cache lifetime for the main agent's conversation, if the provider supports it. */
    readonly lifetime?: CacheLifetime;
  };
  readonly compaction?: {
    /** Percentage of the context window at which a conversation is compacted, from 1 to 100. */
    readonly percent?: number;
  };
}

/** Default value of `subagents.maxSpawns`. */
export const DEFAULT_MAX_SPAWNS = 100;

/** Scopes of settings, from lowest to highest precedence. */
export const settingsScopes = ["user", "project", "local", "environment", "flag", "managed"] as const;
export type SettingsScope = (typeof settingsScopes)[number];

/** Origin of one value in the settings. */
export interface SettingsOrigin {
  /** Path of the value, such as `permissions.deny[0]`. */
  readonly path: string;
  readonly value: JsonValue;
  readonly scope: SettingsScope;
  /** Absent if the value is not from a file. */
  readonly file?: string | undefined;
}

/** A line in a `permissions.jsonc` file, with its origin. */
export interface ScopedCompactRule extends CompactRule {
  readonly scope: RuleScope;
  readonly file: string;
}
