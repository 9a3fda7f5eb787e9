import { describe, expect, it } from "vitest";
import { noUsage, type RunUpdate } from "../../protocol/index.ts";
import { createStreamEvents } from "./stream-steps.ts";

const ended: RunUpdate = {
  v: 1,
  id: "1",
  parentId: null,
  at: 0,
  type: "model.ended",
  turn: 1,
  message: { role: "assistant", content: [] },
  stopReason: "tool_calls",
  incompleteCalls: 0,
  usage: noUsage,
  milliseconds: 1,
};

function shape(updates: readonly RunUpdate[]): string[] {
  const events = createStreamEvents(() => "m");
  return updates.flatMap(events).map((event) => {
    const { type, index } = event as { type: string; index?: number };
    return index === undefined ? type : `${type} ${index}`;
  });
}

describe("stream events", () => {
  it("number the blocks, and open and close each of them once", () => {
    const updates: RunUpdate[] = [
      { type: "thinking.delta", turn: 1, text: "hm" },
      { type: "text.delta", turn: 1, text: "a" },
      { type: "text.delta", turn: 1, text: "b" },
      { type: "call.delta", turn: 1, index: 0, name: "Read", json: "{" },
      { type: "call.delta", turn: 1, index: 1, name: "Read", json: "{" },
      ended,
    ];
    expect(shape(updates)).toEqual([
      "message_start",
      "content_block_start 0",
      "content_block_delta 0",
      "content_block_stop 0",
      "content_block_start 1",
      "content_block_delta 1",
      "content_block_delta 1",
      "content_block_stop 1",
      "content_block_start 2",
      "content_block_delta 2",
      "content_block_stop 2",
      "content_block_start 3",
      "content_block_delta 3",
      "content_block_stop 3",
      "message_delta",
      "message_stop",
    ]);
  });

  it("start a new message for the next turn, but none for a response without deltas", () => {
    const one: RunUpdate = { type: "text.delta", turn: 1, text: "a" };
    const events = shape([one, ended, ended, { ...one, turn: 2 }, ended]);
    expect(events.filter((event) => event === "message_start")).toHaveLength(2);
    expect(events.filter((event) => event === "message_stop")).toHaveLength(2);
  });
});
