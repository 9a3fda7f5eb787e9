import type { AnswerWish, OnAsk } from "../app/index.ts";
import type { CacheLifetime, Effort, ForkChoice, JsonObject, PermissionMode } from "../protocol/index.ts";
import type { SettingsQuestion } from "./commands/settings-options.ts";

export type OutputFormat = "text" | "json" | "stream-json";
/** Commands that have a help of their own. */
export const helpTopics = [
  "sessions",
  "agents",
  "plugins",
  "trust",
  "config",
  "worktrees",
  "permissions",
  "approvals",
  "doctor",
  "cache",
] as const;
export type HelpTopic = "retinue" | (typeof helpTopics)[number];

export interface PrintOptions {
  readonly prompt: string;
  readonly outputFormat: OutputFormat;
  readonly partialMessages: boolean;
  /** In a stream, what subagents say too. */
  readonly subagentText: boolean;
  /** Who works, by name. */
  readonly agent?: string;
  /** Agents for this run, name to definition. */
  readonly agents?: JsonObject;
  readonly model?: string;
  readonly provider?: string;
  readonly effort?: Effort;
  readonly maxTurns?: number;
  /** US dollars, for the run with all its agents. */
  readonly maxCost?: number;
  readonly maxTokens?: number;
  readonly maxSpawns?: number;
  /** Commands that say whether the work is good. */
  readonly acceptance: readonly string[];
  readonly cwd?: string;
  /** A whole session id or its beginning. */
  readonly resume?: string;
  readonly continueLatest: boolean;
  readonly permissionMode?: PermissionMode;
  /** What becomes of calls that somebody would have to be asked about. */
  readonly onAsk?: OnAsk;
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  readonly settings?: string;
  /** The main agent only gives work to others. */
  readonly coordinator?: boolean;
  /** Whether agents may start forks of themselves. */
  readonly fork?: ForkChoice;
  /** How long the provider is asked to keep the conversation. */
  readonly cacheLifetime?: CacheLifetime;
  /** The directory's own files count for this run. */
  readonly trust: boolean;
  readonly verbose: boolean;
  readonly quiet: boolean;
}

export interface DoctorOptions {
  readonly json: boolean;
  readonly provider?: string;
  readonly model?: string;
  readonly settings?: string;
}

interface AgentsPlace {
  readonly json: boolean;
  /** Read this project's definitions although it is not trusted. */
  readonly trust: boolean;
  readonly cwd?: string;
}

export interface NewAgentOptions {
  readonly name?: string;
  readonly description?: string;
  readonly tools?: readonly string[];
  readonly model?: string;
  readonly scope: "project" | "user";
  readonly cwd?: string;
}

/** What the words on the command line ask for. */
export type Command =
  | { readonly kind: "print"; readonly options: PrintOptions }
  | { readonly kind: "interactive"; readonly prompt: string }
  | { readonly kind: "sessions.list"; readonly json: boolean; readonly all: boolean; readonly cwd?: string }
  | { readonly kind: "sessions.show"; readonly id: string; readonly agent?: string; readonly json: boolean }
  | { readonly kind: "sessions.export"; readonly id: string }
  | { readonly kind: "sessions.delete"; readonly ids: readonly string[]; readonly yes: boolean }
  | ({ readonly kind: "agents.list" } & AgentsPlace)
  | ({ readonly kind: "agents.show"; readonly name: string } & AgentsPlace)
  | { readonly kind: "agents.check"; readonly paths: readonly string[]; readonly jsonl: boolean }
  | ({ readonly kind: "agents.lint"; readonly targets: readonly string[] } & AgentsPlace)
  | ({ readonly kind: "agents.new" } & NewAgentOptions)
  | ({
      readonly kind: "agents.explain";
      readonly agent: string;
      readonly call: string;
      readonly mode?: PermissionMode;
      readonly background: boolean;
    } & AgentsPlace)
  | {
      readonly kind: "approvals.list";
      readonly json: boolean;
      readonly all: boolean;
      readonly session?: string;
      readonly cwd?: string;
    }
  | ({ readonly kind: "approvals.answer"; readonly json: boolean } & Omit<AnswerWish, "home" | "by">)
  | ({ readonly kind: "permissions.list" } & SettingsQuestion)
  | { readonly kind: "permissions.check"; readonly root?: string }
  | { readonly kind: "plugins.list"; readonly json: boolean }
  | { readonly kind: "plugins.add"; readonly source: string; readonly yes: boolean }
  | {
      readonly kind: "plugins.remove" | "plugins.enable" | "plugins.disable";
      readonly name: string;
      readonly yes: boolean;
    }
  | { readonly kind: "trust.list"; readonly json: boolean }
  | { readonly kind: "trust.add" | "trust.remove"; readonly directory: string }
  | ({ readonly kind: "config.show" } & SettingsQuestion)
  | { readonly kind: "cache.report"; readonly id?: string; readonly json: boolean; readonly cwd?: string }
  | {
      readonly kind: "cache.explain";
      readonly id?: string;
      readonly agent?: string;
      readonly json: boolean;
      readonly cwd?: string;
    }
  | { readonly kind: "worktrees.list"; readonly json: boolean }
  | { readonly kind: "worktrees.prune"; readonly json: boolean; readonly dryRun: boolean }
  | { readonly kind: "doctor"; readonly options: DoctorOptions }
  | { readonly kind: "help"; readonly topic: HelpTopic }
  | { readonly kind: "version" };
