import { formatCount, nearest } from "../../lib/index.ts";
import type { Dialect, Settings } from "../../protocol/index.ts";
import { describeModel } from "./describe-model.ts";
import { baseUrlProblem } from "./endpoint.ts";
import { isInTable, knownModel, retirementOf } from "./model-table.ts";
import {
  type Environment,
  environmentSpeaksOf,
  findProvider,
  isAtHome,
  isBuiltIn,
  KEY_VARIABLES,
  keyVariableOf,
  knownId,
  makerOf,
  meaningOf,
  modelOfTier,
  OFFLINE,
  otherKeys,
  type ProviderEntry,
  providerNames,
  providerOfEnvironment,
  type ResolvedProvider,
  tierOf,
  windowSuffix,
} from "./providers.ts";

export interface ProviderRequest {
  readonly settings: Settings;
  readonly environment: Environment;
  readonly flags: { readonly provider?: string | undefined; readonly model?: string | undefined };
}

export type ProviderChoice =
  | {
      readonly kind: "wire";
      readonly provider: ResolvedProvider;
      readonly model: string;
      /** Explains what determined the provider and the model. */
      readonly reason: string;
      /** The model that a flag or the settings requested; null if neither did. */
      readonly requested: string | null;
      /** Explains a name that does not mean here what it means elsewhere. */
      readonly notice?: string | undefined;
    }
  | { readonly kind: "offline"; readonly notice: string }
  /** `setting`: path of the setting that the problem is about, if it is about one. */
  | { readonly kind: "problem"; readonly message: string; readonly setting?: string | undefined };

/**
 * Chooses the provider and the model. Flags take precedence over settings, and settings over the environment. If
 * nothing is configured, chooses the offline model.
 */
export function resolveProvider(request: ProviderRequest): ProviderChoice {
  const model = askedModel(request);
  const provider = askedProvider(request, model);
  if (provider === undefined) return model === undefined ? offlineByDefault() : withoutProvider(model);
  if (provider.name === OFFLINE) return { kind: "offline", notice: `${offlineIs} It was chosen by ${provider.by}.` };
  const named = request.settings.providers ?? {};
  const entry = findProvider(provider.name, named, request.environment);
  if (entry === undefined) return unknownProvider(provider, providerNames(named));
  const setting = Object.hasOwn(named, provider.name) ? `providers.${provider.name}` : provider.setting;
  if (typeof entry === "string") return { kind: "problem", message: entry, setting };
  const resolved = withKey(entry, request.environment);
  if (typeof resolved === "string") return { kind: "problem", message: resolved, setting };
  return withModel(resolved, provider, model);
}

/**
 * Returns the provider for a subagent's model: the provider that the model's name begins with (`openai/…`), the maker
 * of the model if that provider is configured, or else the parent's provider. A parent's provider from the settings is
 * always kept, because it may be a gateway, whose model ids can begin with the name of another provider.
 */
export function providerBelow(
  parent: string,
  model: string,
  { settings, environment }: Omit<ProviderRequest, "flags">,
): string {
  if (!isBuiltIn(parent)) return parent;
  const named = settings.providers ?? {};
  const prefix = prefixOf(model, settings);
  const entry = prefix === undefined ? undefined : findProvider(prefix, named, environment);
  if (prefix !== undefined && typeof entry === "object" && typeof withKey(entry, environment) === "object")
    return prefix;
  const maker = makerOf(model);
  return maker !== undefined && environmentSpeaksOf(maker, environment) ? maker : parent;
}

interface Asked {
  readonly name: string;
  readonly by: string;
  readonly isFlag: boolean;
  /** The setting that named it, if it was a setting. */
  readonly setting?: string | undefined;
}

/** Returns the requested model. The model from the settings does not apply if a flag names another provider. */
function askedModel({ settings, flags }: ProviderRequest): Asked | undefined {
  if (flags.model) return { name: flags.model, by: "the `model` option", isFlag: true };
  if (!settings.model) return undefined;
  const asked: Asked = { name: settings.model, by: "settings.model", isFlag: false, setting: "model" };
  if (flags.provider === undefined || flags.provider === settings.provider) return asked;
  return settings.model.startsWith(`${flags.provider}/`) || tierOf(settings.model) ? asked : undefined;
}

function askedProvider(request: ProviderRequest, model: Asked | undefined): Asked | undefined {
  const { settings, environment, flags } = request;
  if (flags.provider) return { name: flags.provider, by: "the `provider` option", isFlag: true };
  const mayName = model !== undefined && (model.isFlag || settings.provider === undefined);
  const prefix = mayName ? prefixOf(model.name, settings) : undefined;
  if (prefix !== undefined && model) return { ...model, name: prefix };
  if (settings.provider)
    return { name: settings.provider, by: "settings.provider", isFlag: false, setting: "provider" };
  const maker = model === undefined ? undefined : makerOf(model.name);
  if (model && maker !== undefined && environmentSpeaksOf(maker, environment)) {
    return { ...model, name: maker };
  }
  const spoken = providerOfEnvironment(environment);
  return spoken && { name: spoken.name, by: spoken.variable, isFlag: false };
}

/** Returns the prefix of `provider/model` if it is a known provider, because model ids can contain slashes too. */
export function prefixOf(model: string, { providers = {} }: Settings): string | undefined {
  const names = providerNames(providers);
  if (model === OFFLINE) return OFFLINE;
  const prefix = model.slice(0, Math.max(0, model.indexOf("/")));
  return names.includes(prefix) ? prefix : undefined;
}

function withKey(entry: ProviderEntry, environment: Environment): ResolvedProvider | string {
  const problem = baseUrlProblem(entry.baseUrl);
  if (problem !== undefined) return `The base URL of the provider "${entry.name}" can't be used: ${problem}.`;
  const credential = credentialFor(entry, environment);
  if (typeof credential === "string") return credential;
  return {
    name: entry.name,
    dialect: entry.dialect,
    baseUrl: entry.baseUrl,
    keyVariable: credential.variable,
    secretHeaders: () => credential.headers,
    models: entry.models ?? {},
    window: entry.window,
    maxOutputTokens: entry.maxOutputTokens,
    prices: entry.prices,
    maxTokensField: entry.maxTokensField,
  };
}

interface Credential {
  /** Environment variable that contains the key. */
  readonly variable?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the headers with the key and those from the settings, or a message if the key is missing or invalid. */
function credentialFor(entry: ProviderEntry, environment: Environment): Credential | string {
  const headers = ownHeaders(entry);
  if (typeof headers === "string") return headers;
  const key = findKey(entry, environment);
  if (key === undefined) {
    if (!entry.keyRequired) return { headers };
    const variables = candidates(entry).join(" or ");
    return `The provider "${entry.name}" requires a key. Set ${variables} in the environment.`;
  }
  if (!/^[\x21-\x7e]+$/.test(key.value)) {
    return `${key.variable} contains characters that are not valid in a key, such as a space or a line break. Copy the key again.`;
  }
  const header = key.variable === "ANTHROPIC_AUTH_TOKEN" ? undefined : keyHeaders[entry.dialect];
  const carrier: Record<string, string> = header ? { [header]: key.value } : { authorization: `Bearer ${key.value}` };
  return { variable: key.variable, headers: { ...carrier, ...headers } };
}

/** Headers for keys that are not sent as bearer tokens. */
const keyHeaders: Partial<Record<Dialect, string>> = { anthropic: "x-api-key", gemini: "x-goog-api-key" };

function findKey(entry: ProviderEntry, environment: Environment): { variable: string; value: string } | undefined {
  for (const variable of candidates(entry)) {
    const value = environment[variable]?.trim();
    if (value) return { variable, value };
  }
  return undefined;
}

function candidates({ apiKeyEnv }: ProviderEntry): readonly string[] {
  if (apiKeyEnv === undefined) return [];
  const other = otherKeys[apiKeyEnv];
  return other === undefined ? [apiKeyEnv] : [apiKeyEnv, other];
}

function ownHeaders({ name, headers = {} }: ProviderEntry): Record<string, string> | string {
  const made: Record<string, string> = {};
  for (const [header, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      return `The header "${header}" for the provider "${name}" is not valid. Check providers.${name}.headers in your settings.`;
    }
    made[header.toLowerCase()] = value;
  }
  return made;
}

function withModel(provider: ResolvedProvider, chosen: Asked, asked: Asked | undefined): ProviderChoice {
  const { name } = provider;
  const bare = asked?.name.startsWith(`${name}/`) ? asked.name.slice(name.length + 1) : asked?.name;
  const { means, note } = meaningOf(bare ?? "medium");
  const tier = tierOf(means);
  const model = tier === undefined ? knownId(name, means) : modelOfTier(provider.models, tier);
  const { setting } = asked ?? chosen;
  if (model === undefined || model === "") return { kind: "problem", message: noModel(name, bare), setting };
  const problem = retiredModel(provider, model) ?? foreignModel(provider, model);
  if (problem !== undefined) return { kind: "problem", message: problem, setting };
  const modelReason = asked === undefined ? `${name}'s default model` : `model from ${asked.by}`;
  return {
    kind: "wire",
    provider,
    model,
    reason: `provider from ${chosen.by}, ${modelReason}`,
    requested: asked?.name ?? null,
    notice: note ?? windowNotice(provider, model, bare),
  };
}

function retiredModel({ name, models }: ResolvedProvider, model: string): string | undefined {
  const retirement = retirementOf(name, model);
  if (retirement === undefined) return undefined;
  const { since, use } = retirement;
  const successor = modelOfTier(models, use);
  return `${name} has not offered the model "${model}" since ${since}. Use "${use}"${successor === undefined ? "" : ` (${successor})`} instead.`;
}

/** Refuses a model that another provider makes. A gateway at another address may offer the models of all providers. */
function foreignModel(provider: ResolvedProvider, model: string): string | undefined {
  const maker = makerOf(model);
  if (maker === undefined || maker === provider.name || !isInTable(provider.name) || !isAtHome(provider))
    return undefined;
  return `${provider.name} does not offer the model "${model}", which is one of ${maker}'s. ${keyFix(maker)}, or choose another model with the \`model\` option.`;
}

/** Explains that a suffix such as `[1m]` does not enlarge the context window. */
function windowNotice(provider: ResolvedProvider, model: string, written = ""): string | undefined {
  const { window } = describeModel(provider, model);
  if (!windowSuffix.test(written) || window >= 1_000_000) return undefined;
  const { name } = provider;
  const fix = knownModel(name, model) ? "" : ` If it is larger, set providers.${name}.window in your settings.`;
  return `"${written}" has no larger context window: Retinue uses ${formatCount(window)} tokens for ${model}.${fix}`;
}

function noModel(provider: string, asked: string | undefined): string {
  const what = asked ? `has no model for "${asked}"` : "has no default model";
  const where = provider === "ollama" ? ` ("ollama list" shows the installed models)` : "";
  return `The provider "${provider}" ${what}. Choose one with the \`model\` option${where}, or set providers.${provider}.models in your settings.`;
}

function withoutProvider(model: Asked): ProviderChoice {
  if (!model.isFlag && tierOf(model.name)) return offlineByDefault();
  const maker = makerOf(model.name);
  const fix =
    maker === undefined
      ? `Set ${KEY_VARIABLES}, or choose a provider with the \`provider\` option`
      : `${keyFix(maker)}, or choose another provider with the \`provider\` option`;
  return {
    kind: "problem",
    message: `No provider is configured for the model "${model.name}" (from ${model.by}). ${fix}.`,
    setting: model.setting,
  };
}

function keyFix(maker: string): string {
  return `Set ${keyVariableOf(maker)}`;
}

function unknownProvider({ name, by, setting }: Asked, names: readonly string[]): ProviderChoice {
  const near = nearest(name, names, 3).map((word) => `"${word}"`);
  const hint = near.length > 0 ? `Did you mean ${near.join(" or ")}?` : `The known providers are ${names.join(", ")}.`;
  return { kind: "problem", message: `There is no provider "${name}" (from ${by}). ${hint}`, setting };
}

const offlineIs = "Using the offline model, which is not a language model.";

function offlineByDefault(): ProviderChoice {
  const notice = "No provider is configured: using the offline model, which is not a language model.";
  const fix = `To use one, set ${KEY_VARIABLES}, or name a provider with the \`provider\` option.`;
  return { kind: "offline", notice: `${notice} ${fix}` };
}
