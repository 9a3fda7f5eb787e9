import { describe, expect, it } from "vitest";
import { type DurableEvent, type EventOf, type Line, noUsage } from "../../protocol/index.ts";
import { createBudget } from "./create-budget.ts";
import { spendingIn, sumSpending } from "./spending.ts";

const usage = { inputTokens: 10, cacheReadTokens: 200, cacheWriteTokens: 3_000, outputTokens: 40_000 };
const ended: EventOf<"model.ended"> = {
  type: "model.ended",
  turn: 1,
  message: { role: "assistant", content: [] },
  stopReason: "end_turn",
  incompleteCalls: 0,
  usage,
  costUsd: 0.1,
  milliseconds: 1_500,
};
const failed: EventOf<"model.failed"> = {
  type: "model.failed",
  turn: 2,
  error: { code: "stalled", message: "silent" },
  partial: [],
  milliseconds: 500,
};
const spawned: DurableEvent = {
  type: "agent.spawned",
  callId: "c",
  agentId: "a",
  agentType: "Explore",
  description: "look",
};

/** Gives the lines timestamps a minute apart. */
const lines = (...events: readonly DurableEvent[]): Line[] =>
  events.map((event, index) => ({ v: 1, id: String(index), parentId: null, at: index * 60_000, ...event }));

const spentOf = (transcripts: readonly (readonly Line[])[]) => sumSpending(transcripts.map(spendingIn));

describe("agents' spending", () => {
  it("includes the cost of every request that has one, and the time of all requests", () => {
    const unpriced = { ...ended, usage: { ...noUsage, inputTokens: 1 } };
    const { costUsd: _, ...free } = unpriced;
    const spent = spentOf([
      lines(ended, failed, { ...failed, usage, costUsd: 0.2 }, { type: "head.set", hash: "h" }, free),
    ]);
    expect(spent).toMatchObject({ tokens: 2 * 43_210 + 1, turns: 3, seconds: 4, unpriced: 1 });
    const budget = createBudget({ limits: { usd: 0.3 }, clock: { monotonic: () => 0 } });
    budget.restore(spent);
    expect(budget.left().usd?.left).toBe(0);
  });

  it("includes the cost of a tool that used a model itself", () => {
    const result = { outcome: "ok", content: [], facts: { spent: { usage, costUsd: 0.1 } } } as const;
    const searched: DurableEvent = { type: "tool.ended", callId: "c", name: "WebSearch", result, milliseconds: 1 };
    expect(spentOf([lines(ended, searched)])).toMatchObject({ tokens: 2 * 43_210, turns: 2, usd: 0.2, unpriced: 0 });
  });

  it("includes the number of started agents, and counts parallel time once", () => {
    const long = { ...ended, milliseconds: 61_000 };
    const spent = spentOf([lines(spawned, spawned, ended), lines(failed, long, long)]);
    expect(spent).toMatchObject({ spawns: 2, turns: 3, seconds: 121 });
  });

  it("is zero for agents that made no request", () => {
    expect(spentOf([[], []])).toEqual({ tokens: 0, usd: 0, turns: 0, seconds: 0, spawns: 0, unpriced: 0 });
  });
});
