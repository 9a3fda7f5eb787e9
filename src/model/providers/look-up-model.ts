import type { Dialect, Effort, ModelTier, Prices } from "../../protocol/index.ts";
import { describeModel, nearestModels } from "./describe-model.ts";
import {
  type Ability,
  aliases,
  isInTable,
  knownModel,
  modelsOfTable,
  namesIn,
  type ThinkingKind,
} from "./model-table.ts";
import {
  environmentSpeaksOf,
  findProvider,
  knownId,
  makerOf,
  meaningOf,
  modelOfTier,
  modelTiers,
  type NamedProviders,
  OFFLINE,
  type ProviderEntry,
  providerNames,
  type ResolvedProvider,
  tierOf,
} from "./providers.ts";
import { type ProviderChoice, type ProviderRequest, prefixOf, resolveProvider } from "./resolve-provider.ts";

/** What Retinue knows about a model: its limits, prices and abilities, after the settings. */
export interface ModelFacts {
  readonly provider: string;
  readonly model: string;
  readonly dialect: Dialect;
  /** Whether the model is in Retinue's table. If not, limits are assumed unless the settings contain them. */
  readonly isKnown: boolean;
  /** Size of the context window in tokens, including the output. */
  readonly window: number;
  readonly maxOutputTokens: number;
  readonly prices?: Prices | undefined;
  readonly cacheMinimumTokens?: number | undefined;
  /** Effort levels, lowest first. Absent if unknown. */
  readonly efforts?: readonly Effort[] | undefined;
  /** Absent if unknown. */
  readonly thinking?: ThinkingKind | undefined;
  /** What the model accepts besides text. Absent if unknown. */
  readonly can?: readonly Ability[] | undefined;
  /** Tiers that the model is used for. */
  readonly tiers: readonly ModelTier[];
  /** Other names of the model. */
  readonly aliases: readonly string[];
  readonly note?: string | undefined;
}

type Described = Pick<ResolvedProvider, "name" | "dialect" | "models" | "window" | "maxOutputTokens" | "prices">;

export function modelFacts(provider: Described, model: string): ModelFacts {
  const known = knownModel(provider.name, model);
  const { window, maxOutputTokens, prices, cacheMinimumTokens, efforts } = describeModel(provider, model);
  const tiers = modelTiers.filter((tier) => provider.models[tier] === model);
  const means = (name: string): boolean => {
    const tier = tierOf(name);
    return (tier === undefined ? meaningOf(name).means : modelOfTier(provider.models, tier)) === model;
  };
  return {
    provider: provider.name,
    model,
    dialect: provider.dialect,
    isKnown: known !== undefined,
    ...{ window, maxOutputTokens, prices, cacheMinimumTokens, efforts, tiers },
    thinking: known?.thinking,
    can: known?.can,
    aliases: [...modelTiers, ...namesIn(aliases)].filter(means),
    note: known?.note,
  };
}

/** A provider whose models can be listed. */
export interface SurveyedProvider {
  readonly entry: Described;
  /** Absent if the provider can't be used; `problem` says why. */
  readonly resolved?: ResolvedProvider | undefined;
  readonly problem?: string | undefined;
  /** Whether the settings or the environment configure the provider. */
  readonly isConfigured: boolean;
}

/** Returns the provider that a flag names, or else those that are configured or in the table of models. */
export function surveyProviders({ settings, environment, flags }: ProviderRequest): readonly SurveyedProvider[] {
  const named = settings.providers ?? {};
  const names = flags.provider === undefined ? providerNames(named) : [flags.provider];
  return names.flatMap((name) => {
    const isConfigured =
      Object.hasOwn(named, name) || name === flags.provider || environmentSpeaksOf(name, environment);
    if (name === OFFLINE || !(isConfigured || modelsOfTable(name).length > 0)) return [];
    const choice = resolveProvider({ settings, environment, flags: { provider: name, model: `${name}/any` } });
    const resolved = choice.kind === "wire" ? choice.provider : undefined;
    const entry = resolved ?? entryOf(name, named, environment);
    const problem = choice.kind === "problem" ? choice.message : undefined;
    return entry === undefined ? [] : [{ entry, resolved, problem, isConfigured }];
  });
}

export type LookedUpModel =
  | {
      readonly kind: "found";
      readonly facts: ModelFacts;
      /** The provider's models by tier. */
      readonly tiers: Partial<Readonly<Record<ModelTier, string>>>;
      /** Why the model can't be used now, for example because a key is missing. */
      readonly problem?: string | undefined;
      /** Explains a name that does not mean here what it means elsewhere. */
      readonly notice?: string | undefined;
    }
  | { readonly kind: "problem"; readonly message: string; readonly setting?: string | undefined };

/** Looks up a model by any of its names. The model of a provider without a key is found too. */
export function lookUpModel(request: ProviderRequest & { readonly flags: { readonly model: string } }): LookedUpModel {
  const { settings, environment, flags } = request;
  const choice = resolveProvider(request);
  const maker = makerElsewhere(request, choice);
  if (choice.kind === "wire" && maker === undefined) {
    const { provider, model, notice } = choice;
    const facts = modelFacts(provider, model);
    const message = isMisspelled(facts, provider) ? unknownModel(facts) : undefined;
    return message === undefined
      ? { kind: "found", facts, tiers: provider.models, notice }
      : { kind: "problem", message };
  }
  if (choice.kind === "offline")
    return { kind: "problem", message: "The offline model is not a language model: it has no limits or prices." };
  const written = flags.model;
  const name = maker ?? flags.provider ?? prefixOf(written, settings) ?? makerOf(written);
  const entry = name === undefined ? undefined : entryOf(name, settings.providers ?? {}, environment);
  const bare = written.startsWith(`${name}/`) ? written.slice(written.indexOf("/") + 1) : written;
  const tier = tierOf(bare);
  const { means, note: notice } = meaningOf(bare);
  const model = tier && entry ? modelOfTier(entry.models, tier) : knownId(name ?? "", means);
  if (entry === undefined || model === undefined || !knownModel(entry.name, model))
    return choice.kind === "wire" ? { kind: "problem", message: `Nothing is known about "${written}".` } : choice;
  const problem =
    choice.kind === "wire"
      ? `${entry.name} is not configured, so ${choice.provider.name} is asked for this model.`
      : choice.message;
  return { kind: "found", facts: modelFacts(entry, model), tiers: entry.models, problem, notice };
}

/** Returns the maker of a model that only its maker is known to offer, if another provider would be asked for it. */
function makerElsewhere({ settings, flags }: ProviderRequest, choice: ProviderChoice): string | undefined {
  const { provider, model: written = "" } = flags;
  if (choice.kind !== "wire" || provider !== undefined || prefixOf(written, settings) !== undefined) return undefined;
  const maker = makerOf(written);
  const isElsewhere =
    maker !== undefined &&
    maker !== choice.provider.name &&
    knownModel(choice.provider.name, choice.model) === undefined;
  return isElsewhere && knownModel(maker, choice.model) ? maker : undefined;
}

function entryOf(
  name: string,
  named: NamedProviders,
  environment: ProviderRequest["environment"],
): (ProviderEntry & Described) | undefined {
  const entry = findProvider(name, named, environment);
  return typeof entry === "object" ? { ...entry, models: entry.models ?? {} } : undefined;
}

/** Returns whether a model is probably misspelled: nothing is known about it, and its id resembles that of another. */
function isMisspelled({ isKnown, model, prices }: ModelFacts, { name, models }: ResolvedProvider): boolean {
  const isOwn = isKnown || prices !== undefined || Object.values(models).includes(model);
  return !isOwn && isInTable(name) && nearestModels(model).length > 0;
}

function unknownModel({ provider, model }: ModelFacts): string {
  const near = nearestModels(model).map((name) => `"${name}"`);
  return `Retinue knows no ${provider} model "${model}". Did you mean ${near.join(" or ")}?`;
}
