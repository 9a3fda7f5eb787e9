import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Effort } from "../../protocol/index.ts";
import { chooseEffort, unknownModelNotice } from "./model-parameters.ts";

const levels: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];
const model = (efforts?: readonly Effort[], hasTools = true) => ({
  provider: "p",
  model: "m-1",
  dialect: "anthropic" as const,
  window: 200_000,
  maxOutputTokens: 8_000,
  hasTools,
  ...(efforts === undefined ? {} : { efforts }),
});

describe("an agent's effort", () => {
  it("is the requested level if the model supports it", () => {
    expect(chooseEffort("max", model(levels))).toEqual({ effort: "max" });
    expect(chooseEffort(undefined, model([]))).toEqual({});
  });

  it("is the requested level if the model's levels are unknown, with a notice", () => {
    expect(chooseEffort("max", model())).toEqual({
      effort: "max",
      notice: expect.stringContaining('unknown whether the model m-1 supports effort; sending "max" anyway'),
    });
    expect(chooseEffort(undefined, model())).toEqual({});
  });

  it("is lowered to the next level that the model supports, with a notice", () => {
    expect(chooseEffort("xhigh", model(["low", "medium", "high", "max"]))).toEqual({
      effort: "high",
      notice: 'The model m-1 does not support effort "xhigh"; using "high" instead.',
    });
  });

  it("is omitted for a model without levels, with a notice", () => {
    const { effort, notice } = chooseEffort("high", model([]));
    expect(effort).toBeUndefined();
    expect(notice).toContain('"high" is omitted');
  });

  it("is omitted, with a notice, if the model does not support it together with tools", () => {
    const { effort, notice } = chooseEffort("high", { ...model(levels), noEffortWithTools: true });
    expect(effort).toBeUndefined();
    expect(notice).toContain('only without reasoning, so effort "high" is omitted');
    expect(chooseEffort("high", { ...model(levels, false), noEffortWithTools: true })).toEqual({ effort: "high" });
    expect(chooseEffort(undefined, { ...model(levels), noEffortWithTools: true })).toEqual({});
  });

  it("is never an unsupported level, nor higher than requested if there is a lower one", () => {
    fc.assert(
      fc.property(fc.constantFrom(...levels), fc.subarray([...levels]), (wanted, efforts) => {
        const { effort, notice } = chooseEffort(wanted, model(efforts));
        expect(effort === undefined).toBe(efforts.length === 0);
        expect(notice === undefined).toBe(efforts.includes(wanted));
        if (effort === undefined) return;
        expect(efforts).toContain(effort);
        const lower = efforts.filter((level) => levels.indexOf(level) <= levels.indexOf(wanted));
        if (lower.length > 0) expect(lower.at(-1)).toBe(effort);
      }),
    );
  });
});

const unknown = { provider: "p", model: "m-1", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 } as const;
const prices = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1 };

describe("unknownModelNotice", () => {
  it("reports a model that was requested by an unknown id", () => {
    for (const requestedModel of ["m-1", "p/m-1"]) {
      const told = unknownModelNotice({ model: unknown, requestedModel });
      expect(told).toContain('Unknown p model "m-1"');
      expect(told).toContain("200,000 tokens");
    }
  });

  it("does not report a model that is known, has a price in the settings, or was not requested by id", () => {
    expect(unknownModelNotice({ model: { ...unknown, efforts: ["low"] }, requestedModel: "m-1" })).toBeUndefined();
    expect(unknownModelNotice({ model: { ...unknown, prices }, requestedModel: "m-1" })).toBeUndefined();
    expect(unknownModelNotice({ model: unknown, requestedModel: "small" })).toBeUndefined();
    expect(unknownModelNotice({ model: unknown, requestedModel: null })).toBeUndefined();
  });
});
