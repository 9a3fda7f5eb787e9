import { describe, expect, it } from "vitest";
import { aboutModel } from "./about-model.ts";

const model = { provider: "p", model: "m-1", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 } as const;
const prices = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1 };

describe("aboutModel", () => {
  it("says that a model that was asked for by its id is not known", () => {
    for (const requestedModel of ["m-1", "p/m-1"]) {
      const told = aboutModel({ model, requestedModel });
      expect(told).toContain('"m-1" is not one of p that is known here');
      expect(told).toContain("200,000 tokens");
    }
  });

  it("has nothing to say of one that is known, that settings tell the price of, that a tier or nobody chose", () => {
    expect(aboutModel({ model: { ...model, efforts: ["low"] }, requestedModel: "m-1" })).toBeUndefined();
    expect(aboutModel({ model: { ...model, prices }, requestedModel: "m-1" })).toBeUndefined();
    expect(aboutModel({ model, requestedModel: "small" })).toBeUndefined();
    expect(aboutModel({ model, requestedModel: null })).toBeUndefined();
  });
});
