import { takesToolsOnlyWithoutReasoning } from "../../conversation/index.ts";
import { nearest } from "../../lib/index.ts";
import type { ModelDescription } from "../../ports/index.ts";
import type { Dialect, ModelTier, Prices } from "../../protocol/index.ts";
import { aliases, knownModel, models, modelsOfTable, namesIn, retirementOf } from "./model-table.ts";
import {
  builtInProviders,
  knownId,
  makerOf,
  meaningOf,
  modelTiers,
  type ResolvedProvider,
  tierOf,
} from "./providers.ts";

/**
 * Cautious defaults for unknown models, because a window that is too small costs a compaction, but one that is too
 * large ends the run.
 */
const unknown: Record<Dialect, { window: number; maxOutputTokens: number }> = {
  anthropic: { window: 200_000, maxOutputTokens: 32_000 },
  openai: { window: 128_000, maxOutputTokens: 8_192 },
  responses: { window: 128_000, maxOutputTokens: 8_192 },
  gemini: { window: 1_000_000, maxOutputTokens: 65_536 },
};

/**
 * Describes a model from the settings, then from the built-in tables, then from cautious defaults. Unknown prices are
 * left out.
 */
export function describeModel(
  provider: Pick<ResolvedProvider, "name" | "dialect" | "window" | "maxOutputTokens" | "prices">,
  model: string,
): ModelDescription {
  const known = knownModel(provider.name, model);
  const prices = provider.prices?.[model] ?? known?.prices;
  return {
    provider: provider.name,
    model,
    dialect: provider.dialect,
    window: provider.window ?? known?.window ?? unknown[provider.dialect].window,
    maxOutputTokens: provider.maxOutputTokens ?? known?.maxOutputTokens ?? unknown[provider.dialect].maxOutputTokens,
    prices,
    cacheMinimumTokens: known?.cacheMinimumTokens,
    efforts: known?.efforts,
    thinking: provider.dialect === "anthropic" ? adaptiveThinking(model) : undefined,
    compacts: (provider.dialect === "anthropic" && known?.can.includes("compaction")) || undefined,
    // A gateway may handle a model with this name differently.
    noEffortWithTools: known !== undefined && provider.dialect === "openai" && takesToolsOnlyWithoutReasoning(model),
  };
}

/** Gateways that use Anthropic's format pass thinking on. A server that refuses it is asked again without it. */
function adaptiveThinking(model: string): ModelDescription["thinking"] {
  const { thinking = "none" } = knownModel("anthropic", knownId("anthropic", model)) ?? {};
  return thinking === "always" || thinking === "adaptive" ? "adaptive" : undefined;
}

/** A model that users can choose. */
export interface ListedModel {
  readonly model: string;
  /** Tiers that the model is used for. */
  readonly tiers: readonly ModelTier[];
  readonly prices?: Prices | undefined;
}

/** Lists the known models of a provider: first those of its tiers, smallest first, then the others. */
export function knownModels(provider: Pick<ResolvedProvider, "name" | "models" | "prices">): readonly ListedModel[] {
  const { name, models, prices = {} } = provider;
  const ofTiers = modelTiers.flatMap((tier) => models[tier] ?? []);
  const all = new Set([...ofTiers, ...Object.keys(prices), ...modelsOfTable(name)]);
  return [...all].map((model) => ({
    model,
    tiers: modelTiers.filter((tier) => models[tier] === model),
    prices: prices[model] ?? knownModel(name, model)?.prices,
  }));
}

/** A model that a definition names, before a provider is chosen. */
export interface NamedModel {
  /** The id; absent for tiers, whose model depends on the provider. */
  readonly model?: string | undefined;
  readonly efforts?: ModelDescription["efforts"];
  /** Explains a name that does not mean here what it means elsewhere. */
  readonly note?: string | undefined;
  /** Set if the model's maker no longer offers it. */
  readonly retirement?: ReturnType<typeof retirementOf>;
}

/** Describes a model that a definition names by its id, with or without a provider, or by an alias. */
export function describeNamedModel(name: string): NamedModel {
  const { means, note } = meaningOf(name);
  if (tierOf(means)) return { note };
  const slash = means.indexOf("/");
  const written = means.slice(slash + 1);
  const provider = slash === -1 ? makerOf(written) : means.slice(0, slash);
  if (provider === undefined) return { model: written, note };
  const model = knownId(provider, written);
  return { model, efforts: knownModel(provider, model)?.efforts, note, retirement: retirementOf(provider, model) };
}

/** Returns whether any provider is known to offer a model with this id. */
export function isKnownAnywhere(model: string): boolean {
  return builtInProviders.some((provider) => knownModel(provider, model) !== undefined);
}

/** Returns the known models and aliases whose names are most similar to this one. */
export function nearestModels(model: string): readonly string[] {
  const ids = namesIn(models).map((name) => name.slice(name.indexOf("/") + 1));
  return nearest(model, [...ids, ...modelTiers, ...namesIn(aliases)], 3);
}
