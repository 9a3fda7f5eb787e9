import { expect, it } from "vitest";
import { noUsage } from "../../protocol/index.ts";
import { createAnthropicReader } from "./anthropic-reader.ts";

const origin = { provider: "anthropic", model: "claude-opus-5-5" };
const createReader = () => createAnthropicReader({ origin, callId: String, emit: () => undefined });

/** Reads the events of a stream, and returns the response. */
function read(...events: readonly object[]) {
  const reader = createReader();
  for (const event of [{ type: "message_start", message: {} }, ...events, { type: "message_stop" }])
    expect(reader.event(JSON.stringify(event))).toBeUndefined();
  return reader.answer();
}

const start = (block: object) => ({ type: "content_block_start", index: 0, content_block: block });
const delta = (fields: object) => ({ type: "content_block_delta", index: 0, delta: fields });
const stop = { type: "content_block_stop", index: 0 };

it.each([
  [
    "as a whole",
    [start({ type: "compaction", content: "So far.", signature: "s" }), stop],
    { type: "compaction", content: "So far.", signature: "s" },
  ],
  [
    "in a delta",
    [start({ type: "compaction", content: null }), delta({ type: "compaction_delta", content: "So far." }), stop],
    { type: "compaction", content: "So far." },
  ],
  [
    "encrypted",
    [
      start({ type: "compaction", content: null }),
      delta({ type: "compaction_delta", content: null, encrypted_content: "e" }),
      stop,
    ],
    { type: "compaction", content: null, encrypted_content: "e" },
  ],
])("keeps a summary by the provider that arrives %s", (_, events, block) => {
  const usage = { input_tokens: 3, output_tokens: 1, iterations: [{ type: "message", input_tokens: 3 }] };
  const end = { type: "message_delta", delta: { stop_reason: "compaction" }, usage };
  const { message, stopReason, usage: counted } = read(...events, end);
  expect(message.content).toEqual([{ type: "opaque", json: JSON.stringify(block), origin }]);
  expect([stopReason, counted]).toEqual(["end_turn", { ...noUsage, inputTokens: 3, outputTokens: 1 }]);
});

it("counts the tokens of summaries, which the provider counts apart", () => {
  const iterations = [
    { type: "compaction", input_tokens: 100, cache_read_input_tokens: 40, output_tokens: 20 },
    { type: "message", input_tokens: 7, output_tokens: 2 },
  ];
  const { usage } = read({ type: "message_delta", usage: { input_tokens: 7, output_tokens: 2, iterations } });
  expect(usage).toEqual({ ...noUsage, inputTokens: 107, cacheReadTokens: 40, outputTokens: 22 });
});
