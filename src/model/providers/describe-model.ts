import { takesToolsOnlyWithoutReasoning } from "../../conversation/index.ts";
import type { ModelDescription } from "../../ports/index.ts";
import type { Dialect } from "../../protocol/index.ts";
import { knownModel } from "./prices.ts";
import type { ResolvedProvider } from "./resolved-provider.ts";

/** Cautious: a window that is too small costs a compaction, one that is too large costs the run. */
const unknown: Record<Dialect, { window: number; maxOutputTokens: number }> = {
  anthropic: { window: 200_000, maxOutputTokens: 32_000 },
  openai: { window: 128_000, maxOutputTokens: 8_192 },
};

/** Settings first, then what we know of the model, then a cautious guess. No price is better than a wrong one. */
export function describeModel(provider: ResolvedProvider, model: string): ModelDescription {
  const known = knownModel(provider.name, model);
  const prices = provider.prices?.[model] ?? known?.prices;
  return {
    provider: provider.name,
    model,
    dialect: provider.dialect,
    window: provider.window ?? known?.window ?? unknown[provider.dialect].window,
    maxOutputTokens: provider.maxOutputTokens ?? known?.maxOutputTokens ?? unknown[provider.dialect].maxOutputTokens,
    ...(prices === undefined ? {} : { prices }),
    ...(known === undefined ? {} : { efforts: known.efforts }),
    // What a gateway makes of a model of this name is its own matter.
    ...(known !== undefined && takesToolsOnlyWithoutReasoning(model) ? { noEffortWithTools: true as const } : {}),
  };
}
