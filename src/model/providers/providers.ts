import { misspelledName } from "../../lib/index.ts";
import type { Dialect, ModelTier, Prices, ProviderSettings } from "../../protocol/index.ts";
import { aliasOf, isInTable, knownModel, retirementOf } from "./model-table.ts";

/** A provider before its key is looked up. */
export interface ProviderEntry extends ProviderSettings {
  readonly name: string;
  readonly dialect: Dialect;
  readonly baseUrl: string;
  /** True if the provider can't be used without a key. */
  readonly keyRequired: boolean;
}

/** A provider with everything a request needs. Printing or serializing this object never shows the key. */
export interface ResolvedProvider {
  readonly name: string;
  readonly dialect: Dialect;
  /** Base URL as configured, with or without the version segment. */
  readonly baseUrl: string;
  /** Environment variable that contains the key; undefined if no key is needed. */
  readonly keyVariable?: string | undefined;
  /**
   * Returns the key and the configured headers. This is a function so that the key stays out of logs and transcripts.
   */
  readonly secretHeaders: () => Readonly<Record<string, string>>;
  readonly models: Partial<Readonly<Record<ModelTier, string>>>;
  readonly window?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Prices by model id. */
  readonly prices?: Readonly<Record<string, Prices>> | undefined;
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
}

interface BuiltIn extends ProviderSettings {
  readonly dialect: Dialect;
  readonly baseUrl: string;
  readonly baseUrlEnv?: string;
}

const builtIns: Readonly<Record<string, BuiltIn>> = {
  anthropic: {
    dialect: "anthropic",
    baseUrl: "https://api.anthropic.com",
    baseUrlEnv: "ANTHROPIC_BASE_URL",
    apiKeyEnv: "ANTHROPIC_API_KEY",
    models: { small: "claude-haiku-5-5", medium: "claude-sonnet-5-5", large: "claude-opus-5-5" },
  },
  openai: {
    dialect: "openai",
    baseUrl: "https://api.openai.com/v1",
    baseUrlEnv: "OPENAI_BASE_URL",
    apiKeyEnv: "OPENAI_API_KEY",
    // The newest models that also support tools in Chat Completions, which compatible servers at another address use.
    models: { small: "gpt-6-luna", medium: "gpt-6-sol", large: "gpt-6-sol" },
    maxTokensField: "max_completion_tokens",
  },
  gemini: {
    dialect: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com",
    baseUrlEnv: "GOOGLE_GEMINI_BASE_URL",
    apiKeyEnv: "GEMINI_API_KEY",
    models: { small: "gemini-3.8-flash", medium: "gemini-3.8-flash", large: "gemini-4-argon" },
  },
  ollama: { dialect: "openai", baseUrl: "http://127.0.0.1:11434/v1" },
};

export const builtInProviders = Object.keys(builtIns);

export const OFFLINE = "offline";

export type Environment = Readonly<Record<string, string | undefined>>;
export type NamedProviders = Readonly<Record<string, ProviderSettings>>;

export function isBuiltIn(provider: string): boolean {
  return Object.hasOwn(builtIns, provider);
}

export function providerNames(named: NamedProviders): readonly string[] {
  return [...new Set([...Object.keys(named), ...Object.keys(builtIns), OFFLINE])];
}

/** Returns the provider, undefined if it is unknown, or a message if its configuration can't be used. */
export function findProvider(
  name: string,
  named: NamedProviders,
  environment: Environment,
): ProviderEntry | string | undefined {
  const own = Object.hasOwn(named, name) ? named[name] : undefined;
  const builtIn = Object.hasOwn(builtIns, name) ? builtIns[name] : undefined;
  if (own === undefined && builtIn === undefined) return undefined;
  const { baseUrlEnv, ...basis } = builtIn ?? {};
  const fromEnvironment = baseUrlEnv === undefined ? undefined : environment[baseUrlEnv]?.trim() || undefined;
  const baseUrl = own?.baseUrl ?? fromEnvironment ?? builtIn?.baseUrl;
  if (baseUrl === undefined) {
    return `The provider "${name}" has no base URL. Set providers.${name}.baseUrl in your settings.`;
  }
  const atHome = baseUrl === builtIn?.baseUrl;
  const { maxTokensField, ...common } = basis as ProviderSettings;
  return {
    ...common,
    // Compatible servers often recognize only the older name of this field.
    ...(atHome && maxTokensField !== undefined ? { maxTokensField } : {}),
    ...own,
    models: { ...builtIn?.models, ...own?.models },
    name,
    baseUrl,
    dialect: own?.dialect ?? (isOpenai(baseUrl) ? "responses" : (builtIn?.dialect ?? "openai")),
    // A different address may be that of a local server, which needs no key. If the settings name a key variable, a key
    // is required.
    keyRequired: own?.apiKeyEnv !== undefined || (builtIn?.apiKeyEnv !== undefined && atHome),
  };
}

/**
 * Returns whether the address is OpenAI's own, including its regional ones. Many compatible servers support only Chat
 * Completions.
 */
function isOpenai(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && /^(.+\.)?api\.openai\.com$/.test(new URL(baseUrl).hostname);
}

/** Returns the provider that an environment variable selects, and the name of the variable. */
export function providerOfEnvironment(environment: Environment): { name: string; variable: string } | undefined {
  for (const [variable, name] of speaking) if (environment[variable]?.trim()) return { name, variable };
  return undefined;
}

export function environmentSpeaksOf(name: string, environment: Environment): boolean {
  return speaking.some(([variable, provider]) => provider === name && environment[variable]?.trim());
}

const speaking: readonly (readonly [variable: string, provider: string])[] = [
  ["ANTHROPIC_API_KEY", "anthropic"],
  ["ANTHROPIC_AUTH_TOKEN", "anthropic"],
  ["OPENAI_API_KEY", "openai"],
  ["GEMINI_API_KEY", "gemini"],
  ["ANTHROPIC_BASE_URL", "anthropic"],
  ["OPENAI_BASE_URL", "openai"],
  ["GOOGLE_GEMINI_BASE_URL", "gemini"],
  // Other services of Google use this key too, so everything else takes precedence.
  ["GOOGLE_API_KEY", "gemini"],
];

/** Other environment variables for the key, by the variable that takes precedence. */
export const otherKeys: Readonly<Record<string, string>> = {
  ANTHROPIC_API_KEY: "ANTHROPIC_AUTH_TOKEN",
  GEMINI_API_KEY: "GOOGLE_API_KEY",
};

/** Names of the environment variables for the keys of the built-in providers, to be used in a sentence. */
export const KEY_VARIABLES = "ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY";

export function keyVariableOf(provider: string): string {
  return builtIns[provider]?.apiKeyEnv ?? KEY_VARIABLES;
}

export const modelTiers: readonly ModelTier[] = ["small", "medium", "large"];
const tierNames = [...modelTiers, "haiku", "sonnet", "opus"];

/**
 * Returns what a name stands for: a tier, or the id of a model. A suffix such as `[1m]`, with which other programs
 * request a larger context window, is left out.
 */
export function meaningOf(name: string): { readonly means: string; readonly note?: string | undefined } {
  const bare = name.replace(windowSuffix, "");
  const tier = modelTiers.find((each) => each === bare.toLowerCase());
  return tier === undefined ? (aliasOf(bare) ?? { means: bare }) : { means: tier };
}

export const windowSuffix = /\[\d+[km]\]$/i;

export function tierOf(name: string): ModelTier | undefined {
  const { means } = meaningOf(name);
  return modelTiers.find((tier) => tier === means);
}

/** Returns the name of a tier that a model's name probably misspells. */
export function misspelledTier(model: string): string | undefined {
  return tierOf(model) === undefined ? misspelledName(model, tierNames) : undefined;
}

/** Returns the id of the known model that a name spells as other programs do, or else the name itself. */
export function knownId(provider: string, written: string): string {
  const ids = isInTable(provider) ? spellings(written) : [];
  return ids.find((id) => knownModel(provider, id) ?? retirementOf(provider, id)) ?? written;
}

/** Returns spellings of `opencode/claude-opus-4.5`, `us.anthropic.claude-opus-4-5-v1:0` or `Opus-4.5`, for example. */
function spellings(written: string): readonly string[] {
  const last = written.slice(written.lastIndexOf("/") + 1).toLowerCase();
  const bare = last
    .replace(/^(?:[a-z-]+\.)?anthropic\./, "")
    .replace(/-v\d+(?::\d+)?$/, "")
    .replace("@", "-");
  const dashed = bare.replace(/^(?=(?:fable|opus|sonnet|haiku)-)/, "claude-").replaceAll(".", "-");
  const turned = dashed.replace(/^claude-(\d+(?:-\d)?)-(fable|opus|sonnet|haiku)/, "claude-$2-$1");
  return [written, bare, dashed, turned];
}

/** Returns the model for a tier, or for the nearest tier that the provider has a model for. */
export function modelOfTier(models: ProviderSettings["models"], tier: ModelTier): string | undefined {
  for (const candidate of nearestTiers[tier]) if (models?.[candidate]) return models[candidate];
  return undefined;
}

const nearestTiers: Record<ModelTier, readonly ModelTier[]> = {
  small: ["small", "medium", "large"],
  medium: ["medium", "large", "small"],
  large: ["large", "medium", "small"],
};

/**
 * Returns the names that rules may use for a model: its id, its id with the provider's name, the tiers that it stands
 * for, and the tiers that its id contains, as in `claude-opus-4-1`.
 */
export function namesOfModel(
  { provider, model }: { readonly provider: string; readonly model: string },
  named: NamedProviders,
  environment: Environment,
): readonly string[] {
  const entry = findProvider(provider, named, environment);
  const models = typeof entry === "object" ? entry.models : {};
  const words = model.toLowerCase().split(/[^a-z]+/);
  const isTier = (name: string): boolean =>
    words.includes(name) || modelOfTier(models, tierOf(name) ?? "medium") === model;
  return [model, `${provider}/${model}`, ...tierNames.filter(isTier)];
}

/** Returns the provider that makes a model, judging by the model's name; undefined if the name does not reveal it. */
export function makerOf(model: string): string | undefined {
  const { means } = meaningOf(model);
  if (knownId("anthropic", means).startsWith("claude-")) return "anthropic";
  if (knownId("gemini", means).startsWith("gemini-")) return "gemini";
  return /^(gpt-|o\d)/.test(knownId("openai", means)) ? "openai" : undefined;
}

/** Returns whether a provider is reached at its maker's own address, and not at that of a gateway or another server. */
export function isAtHome({ name, baseUrl }: Pick<ProviderEntry, "name" | "baseUrl">): boolean {
  return Object.hasOwn(builtIns, name) && builtIns[name]?.baseUrl === baseUrl;
}
