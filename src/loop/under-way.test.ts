import { describe, expect, it } from "vitest";
import { type DurableEvent, type EventOf, noUsage, type Usage } from "../protocol/index.ts";
import { chargeOf, foldUnderWay, type UnderWay } from "./under-way.ts";

const usage = (inputTokens: number, outputTokens: number): Usage => ({ ...noUsage, inputTokens, outputTokens });
const requested: DurableEvent = {
  type: "model.requested",
  turn: 1,
  reserved: { inputTokens: 1_000, outputTokens: 6_000, costUsd: 0.1 },
};
const retried = (lost?: Usage): DurableEvent => ({
  type: "model.retried",
  turn: 1,
  retry: { attempt: 1, maxAttempts: 10, delayMs: 1, status: null, error: "It broke off." },
  ...(lost ? { usage: lost, costUsd: 0.02 } : {}),
});
const searching: DurableEvent = {
  type: "spend.reserved",
  request: "c1",
  reserved: { inputTokens: 34_000, outputTokens: 0, costUsd: 0.2 },
};
const ended: EventOf<"model.ended"> = {
  type: "model.ended",
  turn: 1,
  message: { role: "assistant", content: [] },
  stopReason: "end_turn",
  incompleteCalls: 0,
  usage: noUsage,
  milliseconds: 1,
};
const openAfter = (...events: readonly DurableEvent[]): readonly UnderWay[] => events.reduce(foldUnderWay, []);

describe("requests in progress", () => {
  it("are charged at their reserved cost, plus the cost of earlier attempts", () => {
    const open = openAfter(requested, retried(usage(1_000, 5_000)), retried(), retried(usage(900, 4_000)));
    expect(chargeOf(open)).toEqual({ usage: usage(2_900, 15_000), costUsd: expect.closeTo(0.14) });
  });

  it("end when their responses are recorded, whatever the outcome", () => {
    expect(openAfter(requested, retried(usage(1, 1)), ended)).toEqual([]);
    expect(openAfter(requested, { type: "spend.recorded", usage: noUsage, estimated: true })).toEqual([]);
    const both = openAfter(searching, requested);
    expect(both).toHaveLength(2);
    expect(foldUnderWay(both, ended)).toEqual(openAfter(searching));
  });

  it("have an unknown cost if the cost of one of them is unknown", () => {
    const free: DurableEvent = { ...requested, reserved: { inputTokens: 1, outputTokens: 1 } };
    expect(chargeOf(openAfter(searching, free)).costUsd).toBeUndefined();
    expect(chargeOf([])).toEqual({ usage: noUsage, costUsd: 0 });
  });
});
