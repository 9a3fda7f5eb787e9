import { expect, it } from "vitest";
import type { SessionUpdate } from "../../protocol/index.ts";
import { LiveGaps } from "./live-gaps.ts";

const text = (agentId: string, turn: number, more: object = {}): SessionUpdate => ({
  agentId,
  event: { type: "text.delta", turn, text: "x", ...more },
});

it("marks the first part that is sent after dropped parts of a response, once", () => {
  const gaps = new LiveGaps();
  gaps.drop(text("main", 3));
  expect(gaps.mark(text("other", 3))).toEqual(text("other", 3));
  expect(gaps.mark(text("main", 3))).toEqual(text("main", 3, { isAfterGap: true }));
  expect(gaps.mark(text("main", 3))).toEqual(text("main", 3));
});

it("does not mark another response, or one that is repeated from its beginning", () => {
  const gaps = new LiveGaps();
  gaps.drop(text("main", 3));
  expect(gaps.mark(text("main", 4))).toEqual(text("main", 4));
  gaps.drop(text("main", 4));
  expect(gaps.mark(text("main", 4, { repeated: 0 }))).toEqual(text("main", 4, { repeated: 0 }));
  gaps.drop({ agentId: "main", event: { type: "tool.progressed", callId: "c", text: "half" } });
  expect(gaps.mark(text("main", 4))).toEqual(text("main", 4));
});
