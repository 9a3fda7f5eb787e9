import type { AgentBudget, CompactRule } from "./agents/definition.ts";
import type { ForkChoice } from "./agents/fork.ts";
import type { HookEvent } from "./hooks/hook.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { CacheLifetime, Dialect, Effort } from "./model/head.ts";
import type { Prices } from "./model/usage.ts";
import type { PermissionMode, RuleScope } from "./permissions/permission.ts";

export type ModelTier = "small" | "medium" | "large";

export interface ProviderSettings {
  readonly dialect?: Dialect | undefined;
  readonly baseUrl?: string | undefined;
  /** Name of the environment variable that contains the API key. Local servers need no key. */
  readonly apiKeyEnv?: string | undefined;
  readonly models?: Partial<Readonly<Record<ModelTier, string>>> | undefined;
  /** Context window in tokens, used for models that Retinue does not know. */
  readonly window?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Prices by model id. */
  readonly prices?: Readonly<Record<string, Prices>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Name of the field for the output limit on an OpenAI-compatible server. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
}

export interface PermissionSettings {
  readonly allow?: readonly string[] | undefined;
  readonly ask?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
  readonly defaultMode?: PermissionMode | undefined;
  readonly additionalDirectories?: readonly string[] | undefined;
  /** Forbids the bypassPermissions mode for this machine or user. */
  readonly disableBypassPermissionsMode?: "disable" | undefined;
}

export interface SubagentSettings {
  /** Determines which subagents get MCP tools. */
  readonly mcpTools?: "always" | "foreground" | "never" | undefined;
  /** Tools that subagents from files, plugins and settings can't have. The lists from all scopes are combined. */
  readonly blockedTools?: readonly string[] | undefined;
  /** `foreground`: foreground subagents may ask the user. */
  readonly allowQuestions?: "never" | "foreground" | undefined;
  /** If false, no agent runs in the background. */
  readonly background?: boolean | undefined;
  /** If false, the agent that explains Retinue is not offered. */
  readonly guide?: boolean | undefined;
  /** Default model of subagents. If absent, the parent's model is used. */
  readonly model?: string | undefined;
  /** Maximum depth of delegation. If 1, only the main agent can delegate. */
  readonly maxDepth?: number | undefined;
  /** If false, the model is not told that it can start several agents at once. */
  readonly parallel?: boolean | undefined;
  /** Number of agents that one user prompt may start without approval. */
  readonly maxSpawns?: number | undefined;
  /** Limit on the active time of a foreground subagent, in seconds. 0 means no limit. */
  readonly timeoutSeconds?: number | undefined;
  /** Maximum time without output from the model during a request. */
  readonly idleSeconds?: number | undefined;
}

/** `auto`: use a sandbox if the system has one. `require`: run no command without a sandbox. */
export type SandboxMode = "auto" | "require" | "off";

export interface SandboxSettings {
  readonly mode?: SandboxMode | undefined;
  /**
   * Hosts that commands can reach over HTTP. If absent, commands can't reach any host. `*.example.com` matches every
   * subdomain.
   */
  readonly network?: { readonly allowedDomains?: readonly string[] | undefined } | undefined;
  /** Directories outside the workspace to which commands can write. `~/` stands for the home directory. */
  readonly filesystem?: { readonly allowWrite?: readonly string[] | undefined } | undefined;
}

export interface EnvironmentSettings {
  /**
   * Names of variables that are passed to commands in addition to harmless ones. `APP_*` matches every name that begins
   * with `APP_`.
   */
  readonly pass?: readonly string[] | undefined;
}

export interface SearchSettings {
  readonly engine: "searxng" | "brave" | "anthropic" | "off";
  readonly baseUrl?: string | undefined;
  readonly apiKeyEnv?: string | undefined;
}

export interface BackgroundSettings {
  /** `deny`: a background agent's calls that need approval are denied, even if an approver is available. */
  readonly approvals?: "inbox" | "deny" | undefined;
  /**
   * If true, the user is asked once, before a background agent starts, to approve everything that the agent's
   * definition lists.
   */
  readonly preapprove?: boolean | undefined;
  /**
   * Time that an otherwise finished run waits for background agents before it stops them. If absent, there is no limit.
   */
  readonly waitSeconds?: number | undefined;
}

/** Default timeouts for a single call, in seconds. The call or the MCP server can override them. */
export interface ToolTimeouts {
  readonly bash?: number | undefined;
  readonly webFetch?: number | undefined;
  readonly mcp?: number | undefined;
}

export interface StatusLineSettings {
  readonly type?: "command" | undefined;
  /** Command that is run with sh in the workspace. The first line of its output is shown. */
  readonly command: string;
  /** Number of spaces before the line. */
  readonly padding?: number | undefined;
}

/** Hook commands by event, as in a settings file. */
export type HookSettings = {
  readonly [Event in HookEvent]?:
    | readonly ((HookCommand & { readonly matcher?: string | undefined }) | HookGroup)[]
    | undefined;
};

/** Hook commands that share a matcher. */
interface HookGroup {
  /** Tools, agent types or other subjects of the event to match; all if absent. */
  readonly matcher?: string | undefined;
  readonly hooks: readonly HookCommand[];
}

/** A command that runs as a hook. */
export interface HookCommand {
  readonly type?: "command" | undefined;
  readonly command: string;
  /** Arguments of the program `command`. If absent, `command` is a shell command line. */
  readonly args?: readonly string[] | undefined;
  /** Timeout in seconds. */
  readonly timeout?: number | undefined;
}

/** Settings, as in a settings file. */
export interface Settings {
  /** Main agent of new sessions. */
  readonly agent?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly effort?: Effort | undefined;
  readonly providers?: Readonly<Record<string, ProviderSettings>> | undefined;
  readonly permissions?: PermissionSettings | undefined;
  readonly search?: SearchSettings | undefined;
  /** Sandbox for the model's commands. Project settings can't change this. */
  readonly sandbox?: SandboxMode | SandboxSettings | undefined;
  /** Command that prints the status line of the terminal interface. */
  readonly statusLine?: StatusLineSettings | undefined;
  readonly maxTurns?: number | undefined;
  readonly timeouts?: ToolTimeouts | undefined;
  /**
   * Whether work that changed files is verified. `suggest`: the agent is advised to have it verified. `auto`: it is
   * verified automatically.
   */
  readonly verify?: "off" | "suggest" | "auto" | undefined;
  /** Budget of the session and all its agents. Project settings can only lower the limits. */
  readonly budget?: AgentBudget | undefined;
  readonly cleanupPeriodDays?: number | undefined;
  /** Environment variables that commands get. Project settings can't change this. */
  readonly environment?: EnvironmentSettings | undefined;
  /** Environment variables for the session and the processes it starts. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Hook commands by event. Entries that can't be used are reported. */
  readonly hooks?: HookSettings | JsonObject | undefined;
  /** If true, hooks from files are not run. */
  readonly disableAllHooks?: boolean | undefined;
  /** Agent definitions by name, as written; `false` switches off a built-in agent. */
  readonly agents?: JsonObject | undefined;
  /** `compact`: two built-in agents for short tasks, and tight limits for all other agents. */
  readonly profile?: "standard" | "compact" | undefined;
  readonly subagents?: SubagentSettings | undefined;
  readonly background?: BackgroundSettings | undefined;
  /** Whether agents can fork, that is, start a copy of themselves that continues their conversation. */
  readonly fork?: ForkChoice | undefined;
  /** Server configurations by name, as in `.mcp.json`. */
  readonly mcpServers?: Readonly<Record<string, JsonObject>> | undefined;
  readonly cache?:
    | {
        /** Requested cache lifetime for the main agent's conversation, if the provider supports it. */
        readonly lifetime?: CacheLifetime | undefined;
      }
    | undefined;
  readonly compaction?:
    | {
        /** Percentage of the context window at which a conversation is compacted, from 1 to 100. */
        readonly percent?: number | undefined;
      }
    | undefined;
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
  /** Line of the value in the file, starting at 1. Absent for strings in lists. */
  readonly line?: number | undefined;
}

/** A line in a `permissions.jsonc` file, with its origin. */
export interface ScopedCompactRule extends CompactRule {
  readonly scope: RuleScope;
  readonly file: string;
}
