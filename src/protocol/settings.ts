import type { Dialect, Effort } from "./head.ts";
import type { PermissionMode } from "./permission.ts";
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
}

export interface SearchSettings {
  readonly engine: "searxng" | "brave" | "anthropic" | "off";
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
}

export interface Settings {
  readonly provider?: string;
  readonly model?: string;
  readonly effort?: Effort;
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  readonly permissions?: PermissionSettings;
  readonly search?: SearchSettings;
  readonly maxTurns?: number;
  readonly cleanupPeriodDays?: number;
}
