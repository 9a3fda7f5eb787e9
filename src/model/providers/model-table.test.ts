import { describe, expect, it } from "vitest";
import type { Effort, Prices, TokenPrices } from "../../protocol/index.ts";
import {
  aliases,
  aliasOf,
  isInTable,
  knownModel,
  models,
  modelsOfTable,
  namesIn,
  retired,
  retirementOf,
} from "./model-table.ts";
import { modelTiers, tierOf } from "./providers.ts";
import { resolveProvider } from "./resolve-provider.ts";

const providers = ["anthropic", "openai", "gemini"];
const all = providers.flatMap((provider) => modelsOfTable(provider).map((model) => ({ provider, model })));
const known = ({ provider, model }: (typeof all)[number]) => {
  const found = knownModel(provider, model);
  if (found === undefined) throw new Error(`${provider}/${model} has no line`);
  return found;
};
const environment = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" };
const resolve = (model: string) => resolveProvider({ settings: {}, environment, flags: { model } });

const efforts: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

describe("the model table", () => {
  it("has a valid line for every model", () => {
    expect(namesIn(models)).toEqual(all.map(({ provider, model }) => `${provider}/${model}`));
    for (const each of all) {
      const { window, maxOutputTokens, cacheMinimumTokens, prices, thinking, can, ...found } = known(each);
      expect(Number.isInteger(window) && Number.isInteger(maxOutputTokens)).toBe(true);
      expect(maxOutputTokens).toBeLessThan(window);
      expect(cacheMinimumTokens).toBeGreaterThanOrEqual(512);
      expect(can.length > 0 && can.every((ability) => ["images", "tools", "compaction"].includes(ability))).toBe(true);
      expect(["always", "adaptive", "effort", "budget", "none"]).toContain(thinking);
      // Only the budget of tokens says how much a model without effort levels thinks.
      expect(found.efforts.length > 0 || ["budget", "none"].includes(thinking)).toBe(true);
      expect(found.efforts).toEqual(efforts.filter((effort) => found.efforts.includes(effort)));
      const { longPrompts = [], ...short } = prices;
      const bands = [{ above: 0, ...short }, ...longPrompts];
      for (const [index, { above, ...rates }] of bands.entries()) {
        expectPrices(rates);
        const before = bands[index - 1];
        if (before === undefined) continue;
        expect(above).toBeGreaterThan(before.above);
        expect(above).toBeLessThan(window);
        expect(rates.input).toBeGreaterThan(before.input);
      }
    }
  });

  function expectPrices({ input, output, cacheRead, cacheWrite }: TokenPrices): void {
    for (const price of [input, output, cacheRead, cacheWrite]) expect(price).toBeGreaterThan(0);
    expect(cacheRead).toBeLessThan(input);
    expect(cacheWrite).toBeGreaterThanOrEqual(input);
    expect(output).toBeGreaterThan(input);
  }

  it("names nothing twice", () => {
    const names = [models, aliases, retired].flatMap(namesIn);
    expect(new Set(names).size).toBe(names.length);
  });

  it("resolves every alias, and every tier of a provider, to a model that it knows", () => {
    for (const name of [...namesIn(aliases), ...modelTiers, ...namesIn(aliases).map((alias) => `${alias}[1m]`)]) {
      const choice = resolve(name);
      expect(choice).toMatchObject({ kind: "wire" });
      expect(choice.kind === "wire" && knownModel(choice.provider.name, choice.model)).toBeTruthy();
    }
  });

  it("refuses every retired model, with or without a date, and names a tier to use instead", () => {
    for (const name of namesIn(retired)) {
      const [provider = "", model = ""] = name.split("/");
      expect(isInTable(provider)).toBe(true);
      const { since, use = "" } = retirementOf(provider, model) ?? {};
      expect(since).toMatch(/^202\d-\d{2}-\d{2}$/);
      expect(tierOf(use)).toBeDefined();
      for (const dated of [name, `${name}-20250101`, `${name}-2025-01-01`, `${name}-latest`, `opencode/${model}`]) {
        expect(resolve(dated)).toMatchObject({ kind: "problem", message: expect.stringContaining(`Use "${use}" (`) });
      }
    }
  });

  it("knows nothing under a name that is only part of a line", () => {
    for (const name of ["", "gpt", "claude-opus", "gpt-6-sol  1_050_000", "constructor", "\n", "model", "name"]) {
      expect(
        knownModel("anthropic", name) ?? knownModel("openai", name) ?? retirementOf("openai", name),
      ).toBeUndefined();
      expect(aliasOf(name)).toBeUndefined();
    }
    expect([isInTable("model"), isInTable("")]).toEqual([false, false]);
  });
});

/** What providers have published, as of November 2026: prices, window and kind of thinking. */
const published: readonly [string, Prices, number, string][] = [
  ["anthropic/claude-fable-5-2", price(8, 40, 0.2), 1_000_000, "always"],
  ["anthropic/claude-fable-5-1", price(10, 50, 0.25), 1_000_000, "always"],
  ["anthropic/claude-opus-5-5", price(4, 20, 0.2), 1_000_000, "always"],
  ["anthropic/claude-sonnet-5-5", price(2, 10, 0.1), 1_000_000, "always"],
  [
    "anthropic/claude-haiku-5-5",
    { ...price(0.1, 0.5, 0.01), longPrompts: [{ above: 100_000, ...price(0.5, 2.5, 0.05) }] },
    1_000_000,
    "adaptive",
  ],
  ["anthropic/claude-haiku-4-5", price(1, 5, 0.1), 200_000, "budget"],
  ["openai/gpt-6.2-astra", gpt(8, 40, 0.4), 1_050_000, "always"],
  ["openai/gpt-6.1-sol", gpt(2, 10, 0.1), 1_050_000, "always"],
  ["openai/gpt-6-luna", gpt(0.1, 0.5, 0.01), 1_050_000, "effort"],
  // Writing to Google's cache costs as much as any other input. Half of these prices apply until the end of the year.
  ["gemini/gemini-4-argon", { ...price(4, 20, 0.2), cacheWrite: 4 }, 1_048_576, "always"],
  ["gemini/gemini-3.8-flash", { ...price(1.5, 7.5, 0.15), cacheWrite: 1.5 }, 1_048_576, "always"],
];

function price(input: number, output: number, cacheRead: number): TokenPrices {
  return { input, output, cacheRead, cacheWrite: input * 1.25 };
}

/** Above 272,000 tokens, input and cache cost twice as much, and output one and a half times as much. */
function gpt(input: number, output: number, cacheRead: number): Prices {
  const long = price(2 * input, 1.5 * output, 2 * cacheRead);
  return { ...price(input, output, cacheRead), longPrompts: [{ above: 272_000, ...long }] };
}

it.each(published)("the line of %s contains what its provider has published", (name, prices, window, thinking) => {
  const [provider = "", model = ""] = name.split("/");
  expect(known({ provider, model })).toMatchObject({ prices, window, thinking, maxOutputTokens: expect.any(Number) });
});

it("the whole GPT-6 family costs more above 272,000 tokens", () => {
  const family = modelsOfTable("openai").filter((model) => /^gpt-6/.test(model));
  expect(family.length).toBeGreaterThan(5);
  for (const model of family) {
    const { input, output, cacheRead } = known({ provider: "openai", model }).prices;
    expect(known({ provider: "openai", model }).prices).toEqual(gpt(input, output, cacheRead));
  }
});
