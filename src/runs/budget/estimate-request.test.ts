import { describe, expect, it } from "vitest";
import { estimateRequest, longestAnswer, reservedSpend } from "./estimate-request.ts";

const prices = { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5 };
const model = {
  provider: "anthropic",
  model: "m",
  dialect: "anthropic" as const,
  window: 1,
  maxOutputTokens: 1,
  prices,
};

describe("the cost estimate for a request", () => {
  it.each([
    ["5m", prices, 5],
    ["1h", prices, 8],
    ["1h", { ...prices, cacheWrite1h: 9 }, 9],
  ] as const)("assumes that all input is written to the cache for %s", (cacheLifetime, own, usdPerMillion) => {
    const { usd = 0, inputTokens } = estimateRequest(
      { inputTokens: 1_000, maxTokens: 0, cacheLifetime },
      { ...model, prices: own },
    );
    expect((usd * 1e6) / inputTokens).toBeCloseTo(usdPerMillion, 6);
  });

  it("includes a full-length response, and states the minimum length", () => {
    const request = { inputTokens: 1_000, maxTokens: 32_000 };
    expect(estimateRequest(request, model)).toMatchObject({
      tokens: 33_000,
      answer: { tokens: 32_000, least: 1_024, usdPerToken: 0.00002 },
    });
  });

  it.each([
    ["short", 90_000, 1],
    ["almost long", 91_000, 5],
    ["long", 101_000, 5],
  ] as const)("uses the prices of long prompts as soon as a prompt may be long: %s", (_, inputTokens, times) => {
    const long = { above: 100_000, input: 20, output: 100, cacheRead: 2, cacheWrite: 25 };
    const own = { ...model, prices: { ...prices, longPrompts: [long] } };
    const estimate = estimateRequest({ inputTokens, maxTokens: 1_000 }, own);
    expect(estimate.usd).toBeCloseTo((times * (inputTokens * 5 + 1_000 * 20)) / 1e6, 9);
    expect(estimate.answer.usdPerToken).toBeCloseTo((times * 20) / 1e6, 12);
  });

  it("is recorded with the reserved response", () => {
    const estimate = estimateRequest({ inputTokens: 1_000, maxTokens: 32_000 }, model);
    expect(reservedSpend(estimate, { answerTokens: 32_000 })).toEqual({
      inputTokens: 1_000,
      outputTokens: 32_000,
      costUsd: estimate.usd,
    });
    const short = reservedSpend(estimate, { answerTokens: 2_000 });
    expect(short).toMatchObject({ outputTokens: 2_000, shortened: true });
    expect(short.costUsd).toBeCloseTo((1_000 * 5 + 2_000 * 20) / 1e6, 9);
  });
});

it("a response is limited to a quarter of the window", () => {
  expect(longestAnswer({ window: 9_000, maxOutputTokens: 8_000 })).toBe(2_250);
  expect(longestAnswer({ window: 200_000, maxOutputTokens: 64_000 })).toBe(32_000);
});
