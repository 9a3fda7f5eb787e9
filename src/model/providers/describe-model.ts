import { takesToolsOnlyWithoutReasoning } from "../../conversation/index.ts";
import type { ModelDescription } from "../../ports/index.ts";
import type { Dialect, Effort, LongPromptPrices, ModelTier, Prices, TokenPrices } from "../../protocol/index.ts";
import { type ResolvedProvider, tierOf } from "./providers.ts";

/**
 * Cautious defaults for unknown models, because a window that is too small costs a compaction, but one that is too
 * large ends the run.
 */
const unknown: Record<Dialect, { window: number; maxOutputTokens: number }> = {
  anthropic: { window: 200_000, maxOutputTokens: 32_000 },
  openai: { window: 128_000, maxOutputTokens: 8_192 },
  responses: { window: 128_000, maxOutputTokens: 8_192 },
};

/**
 * Describes a model from the settings, then from the built-in tables, then from cautious defaults. Unknown prices are
 * left out.
 */
export function describeModel(provider: ResolvedProvider, model: string): ModelDescription {
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
    // A gateway may handle a model with this name differently.
    noEffortWithTools: known !== undefined && provider.dialect === "openai" && takesToolsOnlyWithoutReasoning(model),
  };
}

interface KnownModel {
  /** Size of the context window in tokens, including the output. */
  readonly window: number;
  readonly maxOutputTokens: number;
  readonly prices: Prices;
  /** Minimum number of tokens that the provider caches. */
  readonly cacheMinimumTokens: number;
  /** Effort levels, lowest first. */
  readonly efforts: readonly Effort[];
}

const upToHigh: readonly Effort[] = ["low", "medium", "high"];
const upToExtraHigh: readonly Effort[] = [...upToHigh, "xhigh"];
const upToMax: readonly Effort[] = [...upToExtraHigh, "max"];
const withoutExtraHigh: readonly Effort[] = [...upToHigh, "max"];

/**
 * Public list prices, limits and effort levels as published in November 2026, by model id without a date. Promotional
 * prices that end on a known day are left out, so that a limit still holds after that day. Settings override prices and
 * limits (`providers.<name>`). The minimum sizes of cacheable prompts are from Anthropic's page on prompt caching as of
 * October 2026; they can't be derived from a model's family or age. Prices are those of input, output and cache reads.
 */
const anthropic: Readonly<Record<string, KnownModel>> = {
  "claude-fable-5-2": million([8, 40, 0.2]),
  "claude-fable-5-1": million([10, 50, 0.25]),
  "claude-fable-5": million([10, 50, 1]),
  "claude-opus-5-5": million([4, 20, 0.2]),
  "claude-opus-5": million([5, 25, 0.5]),
  "claude-opus-4-8": { ...million([5, 25, 0.5]), cacheMinimumTokens: 1_024 },
  "claude-opus-4-7": { ...million([5, 25, 0.5]), cacheMinimumTokens: 2_048 },
  "claude-opus-4-6": { ...million([5, 25, 0.5]), cacheMinimumTokens: 4_096, efforts: withoutExtraHigh },
  "claude-opus-4-5": { ...early([5, 25, 0.5]), cacheMinimumTokens: 4_096, efforts: upToHigh },
  "claude-sonnet-5-5": million([2, 10, 0.1]),
  "claude-sonnet-5": { ...million([2, 10, 0.2]), cacheMinimumTokens: 1_024 },
  "claude-sonnet-4-6": { ...early([3, 15, 0.3]), efforts: withoutExtraHigh },
  "claude-sonnet-4-5": early([3, 15, 0.3]),
  "claude-haiku-5-5": million([0.1, 0.5, 0.01], { above: 100_000, ...withPaidWrites([0.5, 2.5, 0.05]) }),
  "claude-haiku-4-5": { ...early([1, 5, 0.1]), cacheMinimumTokens: 4_096 },
};

const openai: Readonly<Record<string, KnownModel>> = {
  "gpt-6.2-astra": { ...wide([8, 40, 0.4]), efforts: upToExtraHigh },
  // The price of its cache reads could not be verified. This is the price of gpt-6-sol; it may be half of that.
  "gpt-6.2-sol": { ...wide([2, 10, 0.2]), efforts: upToExtraHigh },
  "gpt-6-astra": { ...wide([10, 50, 1]), efforts: upToExtraHigh },
  "gpt-6.1-sol": { ...wide([2, 10, 0.1]), efforts: upToExtraHigh },
  "gpt-6.1-terra": { ...wide([1, 5, 0.05]), efforts: upToExtraHigh },
  "gpt-6-sol": wide([2, 10, 0.2]),
  "gpt-6-luna": wide([0.1, 0.5, 0.01]),
  "gpt-5.6-sol": wide([5, 30, 0.5]),
  "gpt-5.6": wide([5, 30, 0.5]),
  "gpt-5.6-terra": wide([2, 12, 0.2]),
  "gpt-5.6-luna": wide([0.2, 1.2, 0.02]),
  "gpt-5.4": {
    ...narrow([2.5, 15, 0.25]),
    prices: withLongPrompts(withFreeWrites([2.5, 15, 0.25])),
    efforts: upToExtraHigh,
  },
  "gpt-5.4-mini": { ...narrow([0.75, 4.5, 0.075]), efforts: upToExtraHigh },
  "gpt-5.2": { ...narrow([1.75, 14, 0.175]), efforts: upToExtraHigh },
  "gpt-5.1": narrow([1.25, 10, 0.125]),
  "gpt-5": narrow([1.25, 10, 0.125]),
  "gpt-5-mini": narrow([0.25, 2, 0.025]),
  "gpt-5-nano": narrow([0.05, 0.4, 0.005]),
};

const byProvider: Readonly<Record<string, Readonly<Record<string, KnownModel>>>> = { anthropic, openai };

/** Looks up a model under the name of its own provider, because a gateway sells the same model at a different price. */
export function knownModel(provider: string, model: string): KnownModel | undefined {
  const table = byProvider[provider];
  if (table === undefined) return undefined;
  const undated = model.replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, "");
  return Object.hasOwn(table, undated) ? table[undated] : undefined;
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
  const table = byProvider[name] ?? {};
  const ofTiers = modelTiers.flatMap((tier) => models[tier] ?? []);
  const all = new Set([...ofTiers, ...Object.keys(prices), ...Object.keys(table)]);
  return [...all].map((model) => ({
    model,
    tiers: modelTiers.filter((tier) => models[tier] === model),
    prices: prices[model] ?? knownModel(name, model)?.prices,
  }));
}

const modelTiers: readonly ModelTier[] = ["small", "medium", "large"];

/**
 * Describes a model that a definition names by its id, with or without a provider, before a provider is chosen. Returns
 * undefined for tiers, whose model depends on the provider.
 */
export function describeNamedModel(name: string): Pick<ModelDescription, "model" | "efforts"> | undefined {
  if (tierOf(name)) return undefined;
  const slash = name.indexOf("/");
  const model = name.slice(slash + 1);
  const providers = slash === -1 ? Object.keys(byProvider) : [name.slice(0, slash)];
  return { model, efforts: providers.map((each) => knownModel(each, model)).find((known) => known)?.efforts };
}

type Rates = readonly [input: number, output: number, cacheRead: number];

function million(rates: Rates, ...longPrompts: readonly LongPromptPrices[]): KnownModel {
  const prices = withPaidWrites(rates);
  return {
    window: 1_000_000,
    maxOutputTokens: 128_000,
    prices: longPrompts.length === 0 ? prices : { ...prices, longPrompts },
    cacheMinimumTokens: 512,
    efforts: upToMax,
  };
}

function early(rates: Rates): KnownModel {
  return {
    window: 200_000,
    maxOutputTokens: 64_000,
    prices: withPaidWrites(rates),
    cacheMinimumTokens: 1_024,
    efforts: [],
  };
}

/** Describes an OpenAI model since GPT-5.6. */
function wide(rates: Rates): KnownModel {
  return {
    window: 1_050_000,
    maxOutputTokens: 128_000,
    prices: withLongPrompts(withPaidWrites(rates)),
    cacheMinimumTokens: 1_024,
    efforts: upToMax,
  };
}

/** Describes an OpenAI model before GPT-5.6. */
function narrow(rates: Rates): KnownModel {
  return { ...wide(rates), window: 400_000, prices: withFreeWrites(rates), efforts: upToHigh };
}

/** Adds the price of cache writes, which is 1.25 times that of input for five minutes (or OpenAI's only lifetime). */
function withPaidWrites([input, output, cacheRead]: Rates): TokenPrices {
  return { input, output, cacheRead, cacheWrite: times(1.25, input) };
}

/** OpenAI's models before GPT-5.6 charge nothing for cache writes in addition to the input. */
function withFreeWrites([input, output, cacheRead]: Rates): TokenPrices {
  return { input, output, cacheRead, cacheWrite: input };
}

/** Adds OpenAI's prices of long prompts, for models that charge more for them. */
function withLongPrompts(prices: TokenPrices): Prices {
  const { input, output, cacheRead, cacheWrite } = prices;
  const long = {
    above: 272_000,
    input: times(2, input),
    output: times(1.5, output),
    cacheRead: times(2, cacheRead),
    cacheWrite: times(2, cacheWrite),
  };
  return { ...prices, longPrompts: [long] };
}

/** Multiplies a price without the rounding error of binary fractions, which would be visible in lists. */
function times(factor: number, price: number): number {
  return Math.round(factor * price * 1e6) / 1e6;
}
