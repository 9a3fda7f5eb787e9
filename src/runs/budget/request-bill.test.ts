import { describe, expect, it } from "vitest";
import { addUsage, type ModelOutcome, noUsage, type Usage } from "../../protocol/index.ts";
import { createRequestBill } from "./request-bill.ts";

const prices = {
  input: 1,
  output: 0,
  cacheRead: 0,
  cacheWrite: 1,
  longPrompts: [{ above: 100, input: 5, output: 0, cacheRead: 0, cacheWrite: 5 }],
};
const prompt = (inputTokens: number): Usage => ({ ...noUsage, inputTokens });
const ended = (usage: Usage, lostUsage?: Usage): ModelOutcome => ({
  ok: true,
  message: { role: "assistant", content: [] },
  stopReason: "end_turn",
  incompleteCalls: 0,
  usage,
  lostUsage,
});
const failed = (usage?: Usage): ModelOutcome => ({
  ok: false,
  error: { code: "stalled", message: "silent" },
  partial: [],
  usage,
});
const cost = (tokens: number, times: number): number => (tokens * times) / 1e6;

describe("the bill of a request", () => {
  it("prices each attempt by its own prompt", () => {
    const bill = createRequestBill(prices);
    expect(bill.addLost(prompt(80)).costUsd).toBeCloseTo(cost(80, 1), 12);
    expect(bill.addLost(prompt(110)).costUsd).toBeCloseTo(cost(110, 5), 12);
    const total = bill.total(ended(prompt(90), addUsage(prompt(80), prompt(110))));
    expect(total).toEqual({ usage: prompt(280), costUsd: expect.closeTo(cost(80 + 5 * 110 + 90, 1), 12) });
  });

  it("includes the last attempt of a request that failed", () => {
    const bill = createRequestBill(prices);
    bill.addLost(prompt(80));
    expect(bill.total(failed(prompt(160)))?.costUsd).toBeCloseTo(cost(160, 1), 12);
  });

  it("includes attempts that a model reports only at the end", () => {
    const total = createRequestBill(prices).total(ended(prompt(90), prompt(80)));
    expect(total).toEqual({ usage: prompt(170), costUsd: expect.closeTo(cost(170, 1), 12) });
  });

  it("is undefined for a request that cost nothing, and has no cost without prices", () => {
    expect(createRequestBill(prices).total(failed())).toBeUndefined();
    const bill = createRequestBill(undefined);
    expect(bill.addLost(prompt(80))).toEqual({ usage: prompt(80), costUsd: undefined });
    expect(bill.total(ended(prompt(90), prompt(80)))).toEqual({ usage: prompt(170), costUsd: undefined });
  });
});
