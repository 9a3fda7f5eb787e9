import { describe, expect, it } from "vitest";
import { costOf, highestPrices, noUsage, type Prices } from "../index.ts";

const short = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25 };
const long = { input: 5, output: 50, cacheRead: 0.5, cacheWrite: 6.25 };
const prices: Prices = { ...short, longPrompts: [{ above: 1_000, ...long }] };
const MILLION = 1e6;

describe("the cost of a request", () => {
  it.each([
    ["is that of a short prompt up to the length", { inputTokens: 1_000, outputTokens: 10 }, 1_000 + 10 * 10],
    ["is that of a long prompt above it, for all its tokens", { inputTokens: 1_001, outputTokens: 10 }, 5_005 + 500],
    ["counts cache reads to the prompt", { inputTokens: 1, cacheReadTokens: 1_000 }, 5 + 500],
    ["counts cache writes to the prompt", { inputTokens: 1, cacheWriteTokens: 1_000 }, 5 + 6_250],
    ["counts writes for an hour once", { cacheWriteTokens: 1_000, cacheWrite1hTokens: 400 }, 600 * 1.25 + 400 * 2],
    ["doubles the long input for an hour", { cacheWriteTokens: 2_000, cacheWrite1hTokens: 2_000 }, 2_000 * 10],
    ["does not count the response to the prompt", { inputTokens: 1, outputTokens: 5_000 }, 1 + 50_000],
  ])("%s", (_, usage, millionths) => {
    expect(costOf({ ...noUsage, ...usage }, prices) * MILLION).toBeCloseTo(millionths, 6);
  });

  it("depends on the greatest length that the prompt exceeds, in any order, and on the last of equal lengths", () => {
    const longest = { ...long, input: 9 };
    const changed = { ...long, input: 7 };
    const longPrompts = [
      { above: 5_000, ...longest },
      { above: 1_000, ...long },
      { above: 1_000, ...changed },
    ];
    const costs = [1_000, 1_001, 5_000, 5_001].map((inputTokens) => {
      return Math.round((costOf({ ...noUsage, inputTokens }, { ...short, longPrompts }) * MILLION) / inputTokens);
    });
    expect(costs).toEqual([1, 7, 7, 9]);
  });
});

describe("the highest prices of a request", () => {
  it("are those of any length that its prompt can have", () => {
    expect(highestPrices(1_000, prices, "5m")).toEqual({ input: 1.25, output: 10 });
    expect(highestPrices(1_001, prices, "5m")).toEqual({ input: 6.25, output: 50 });
    expect(highestPrices(1_001, prices, "1h")).toEqual({ input: 10, output: 50 });
    const cheaper = { ...short, longPrompts: [{ above: 1_000, ...long, output: 2 }] };
    expect(highestPrices(2_000, cheaper, "5m")).toEqual({ input: 6.25, output: 10 });
  });
});
