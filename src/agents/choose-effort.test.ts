import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Effort } from "../protocol/index.ts";
import { chooseEffort } from "./choose-effort.ts";

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

describe("the effort of an agent", () => {
  it("is what was asked for where the model has it, or where nobody knows", () => {
    expect(chooseEffort("max", model(levels))).toEqual({ effort: "max" });
    expect(chooseEffort("max", model())).toEqual({ effort: "max" });
    expect(chooseEffort(undefined, model([]))).toEqual({});
  });

  it("is the next lower one where the model does not have it, and says so", () => {
    expect(chooseEffort("xhigh", model(["low", "medium", "high", "max"]))).toEqual({
      effort: "high",
      notice: 'The model m-1 has no effort "xhigh": "high" is used instead.',
    });
  });

  it("is left out for a model without levels, and says so", () => {
    const { effort, notice } = chooseEffort("high", model([]));
    expect(effort).toBeUndefined();
    expect(notice).toContain('"high" is left out');
  });

  it("is left out for a model that takes none with tools, and says so; without tools it counts", () => {
    const { effort, notice } = chooseEffort("high", { ...model(levels), noEffortWithTools: true });
    expect(effort).toBeUndefined();
    expect(notice).toContain('takes tools only if it does not reason: effort "high" is left out');
    expect(chooseEffort("high", { ...model(levels, false), noEffortWithTools: true })).toEqual({ effort: "high" });
    expect(chooseEffort(undefined, { ...model(levels), noEffortWithTools: true })).toEqual({});
  });

  it("is never one the model does not have, nor higher than asked while a lower one is there", () => {
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
