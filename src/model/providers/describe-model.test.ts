import { describe, expect, it } from "vitest";
import { providerAt } from "../wire.test-support.ts";
import { describeModel, knownModels } from "./describe-model.ts";
import { knownModel } from "./model-table.ts";
import { resolveProvider } from "./resolve-provider.ts";

const provider = (name: string, dialect: "anthropic" | "openai" = "openai") => ({
  ...providerAt("http://h.test", dialect),
  name,
});

describe("the description of a model", () => {
  it("is known for every tier of the built-in providers, even with dated ids", () => {
    for (const name of ["anthropic", "openai"]) {
      for (const tier of ["small", "medium", "large"]) {
        const environment = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" };
        const choice = resolveProvider({ settings: {}, environment, flags: { provider: name, model: tier } });
        if (choice.kind !== "wire") throw new Error(JSON.stringify(choice));
        expect(describeModel(choice.provider, choice.model)).toMatchObject({
          provider: name,
          prices: expect.anything(),
        });
      }
    }
    expect(knownModel("anthropic", "claude-haiku-4-5-20251001")).toEqual(knownModel("anthropic", "claude-haiku-4-5"));
    expect(knownModel("openai", "gpt-5-2025-08-07")).toEqual(knownModel("openai", "gpt-5"));
  });

  it("uses cautious defaults for any other model, without a price", () => {
    expect(describeModel(provider("anthropic", "anthropic"), "claude-next")).toMatchObject({ window: 200_000 });
    expect(describeModel(provider("ollama"), "llama")).toEqual({
      provider: "ollama",
      model: "llama",
      dialect: "openai",
      window: 128_000,
      maxOutputTokens: 8_192,
      noEffortWithTools: false,
    });
    expect(describeModel(provider("gateway"), "gpt-5").prices).toBeUndefined();
    expect(describeModel(provider("openai"), "constructor").prices).toBeUndefined();
  });

  const pricesOf = (name: string, model: string) => describeModel(provider(name), model).prices;

  it.each([
    ["anthropic", "claude-fable-5-2", { input: 8, output: 40, cacheRead: 0.2, cacheWrite: 10 }],
    ["anthropic", "claude-opus-5-5", { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 }],
    ["anthropic", "claude-sonnet-5-5", { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 }],
    ["anthropic", "claude-haiku-4-5", { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 }],
    ["openai", "gpt-5.4-mini", { input: 0.75, output: 4.5, cacheRead: 0.075, cacheWrite: 0.75 }],
  ])("includes its prices: %s, %s", (name, model, prices) => {
    expect(pricesOf(name, model)).toEqual(prices);
  });

  it.each([
    ["anthropic", "claude-haiku-5-5", 100_000, [0.1, 0.5, 0.01, 0.125], [0.5, 2.5, 0.05, 0.625]],
    ["openai", "gpt-6.2-astra", 272_000, [8, 40, 0.4, 10], [16, 60, 0.8, 20]],
    ["openai", "gpt-6.1-sol", 272_000, [2, 10, 0.1, 2.5], [4, 15, 0.2, 5]],
    ["openai", "gpt-6-luna", 272_000, [0.1, 0.5, 0.01, 0.125], [0.2, 0.75, 0.02, 0.25]],
    ["openai", "gpt-5.6-luna", 272_000, [0.2, 1.2, 0.02, 0.25], [0.4, 1.8, 0.04, 0.5]],
    ["openai", "gpt-5.4", 272_000, [2.5, 15, 0.25, 2.5], [5, 22.5, 0.5, 5]],
  ] as const)("includes other prices for long prompts: %s, %s", (name, model, above, short, long) => {
    const named = ([input, output, cacheRead, cacheWrite]: readonly [number, number, number, number]) => ({
      input,
      output,
      cacheRead,
      cacheWrite,
    });
    expect(pricesOf(name, model)).toEqual({ ...named(short), longPrompts: [{ above, ...named(long) }] });
  });

  it("includes its effort levels", () => {
    const levels = (name: string, model: string) => describeModel(provider(name), model).efforts;
    expect(levels("anthropic", "claude-opus-5-5")).toEqual(["low", "medium", "high", "xhigh", "max"]);
    expect(levels("anthropic", "claude-opus-4-6")).toEqual(["low", "medium", "high", "max"]);
    expect(levels("anthropic", "claude-haiku-4-5")).toEqual([]);
    expect(levels("openai", "gpt-5.2")).toEqual(["low", "medium", "high", "xhigh"]);
    expect(levels("gemini", "gemini-4-argon")).toEqual(["low", "medium", "high"]);
    expect(levels("openai", "gpt-5-mini")).toEqual(["low", "medium", "high"]);
    expect(levels("gateway", "claude-opus-5-5")).toBeUndefined();
  });

  it("includes the minimum size of a cached prompt, if it is known", () => {
    const smallest = (name: string, model: string) => describeModel(provider(name), model).cacheMinimumTokens;
    const models = ["claude-opus-5-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-haiku-5-5"];
    expect(models.map((model) => smallest("anthropic", model))).toEqual([512, 1_024, 2_048, 4_096, 512]);
    expect(smallest("anthropic", "claude-haiku-4-5-20251001")).toBe(4_096);
    expect(smallest("openai", "gpt-5.4")).toBe(1_024);
    expect([smallest("anthropic", "claude-next"), smallest("gateway", "claude-opus-4-8")]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("includes whether effort levels can be combined with tools", () => {
    const without = (name: string, model: string) => describeModel(provider(name), model).noEffortWithTools;
    for (const model of ["gpt-6-sol", "gpt-6.1-terra", "gpt-6-luna", "gpt-5.6-terra-2026-07-01"]) {
      expect(without("openai", model)).toBe(true);
    }
    expect([without("openai", "gpt-5.1"), without("gateway", "gpt-6-sol")]).toEqual([false, false]);
    const responses = { ...provider("openai"), dialect: "responses" as const };
    expect(describeModel(responses, "gpt-6-sol").noEffortWithTools).toBe(false);
  });

  it("is listed with its tiers and price; models with a tier come first", () => {
    const models = { small: "gpt-6-luna", medium: "gpt-6-sol", large: "gpt-6-sol" };
    const listed = knownModels({ ...provider("openai"), models });
    expect(listed.slice(0, 3).map(({ model, tiers }) => [model, tiers])).toEqual([
      ["gpt-6-luna", ["small"]],
      ["gpt-6-sol", ["medium", "large"]],
      ["gpt-6.2-astra", []],
    ]);
    expect(listed[0]?.prices?.input).toBe(0.1);
    expect(knownModels({ ...provider("gateway"), models: { small: "mine" } })).toEqual([
      { model: "mine", tiers: ["small"], prices: undefined },
    ]);
  });

  it("is overridden by settings", () => {
    const prices = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };
    const own = { ...provider("openai"), window: 9_000, maxOutputTokens: 900, prices: { "gpt-5": prices } };
    expect(describeModel(own, "gpt-5")).toMatchObject({ window: 9_000, maxOutputTokens: 900, prices });
  });
});
