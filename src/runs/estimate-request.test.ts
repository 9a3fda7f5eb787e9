import { expect, it } from "vitest";
import type { Head } from "../protocol/index.ts";
import { estimateRequest } from "./estimate-request.ts";

const head: Head = {
  provider: "anthropic",
  model: "m",
  dialect: "anthropic",
  maxTokens: 0,
  tools: [],
  system: "x".repeat(30_000),
  systemContext: "",
  userContext: "",
};
const prices = { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5 };

it("reserves what writing to the cache costs for as long as it is to be kept", () => {
  const usdOf = (of: Head, own = prices): number => {
    const model = { provider: "anthropic", model: "m", dialect: "anthropic" as const, window: 1, maxOutputTokens: 1 };
    const { usd, tokens } = estimateRequest({ head: of, last: undefined, added: undefined }, { ...model, prices: own });
    return ((usd ?? 0) * 1e6) / tokens;
  };
  const long: Head = { ...head, cacheLifetime: "1h" };
  expect(usdOf(head)).toBeCloseTo(5, 6);
  expect(usdOf(long)).toBeCloseTo(8, 6);
  expect(usdOf(long, { ...prices, ...{ cacheWrite1h: 9 } })).toBeCloseTo(9, 6);
});
