import { describe, expect, it } from "vitest";
import { answering, callerFor } from "../wire.test-support.ts";

const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const done = (output_index: number, item: object) => event("response.output_item.done", { output_index, item });
const completed = (fields: object = {}) =>
  event("response.completed", { response: { status: "completed", output: [], ...fields } });
const says = (text: string) => ({ type: "message", content: [{ type: "output_text", text }] });
const call = { type: "function_call", name: "LS", call_id: "c", arguments: "{}", status: "completed" };

async function read(body: string, contentType?: string) {
  const url = await answering(body, contentType);
  const caller = callerFor(url, "responses", { retry: { maxAttempts: 1 } });
  return { ...(await caller.call()), origin: { provider: "responses", model: "test-model" } };
}

async function contentOf(body: string, contentType?: string) {
  const { outcome } = await read(body, contentType);
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome.message.content;
}

describe("a response over the Responses API", () => {
  it("keeps reasoning as it arrived, shows its summary, and knows what a text is for", async () => {
    const json =
      '{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"A."},{"text":"B."}],"encrypted_content":"gA=="}';
    const part = { output_index: 0, summary_index: 1 };
    const body =
      event("response.output_item.added", { output_index: 0, item: { type: "reasoning", summary: [] } }) +
      event("response.reasoning_summary_part.added", { output_index: 0, summary_index: 0 }) +
      event("response.reasoning_summary_text.delta", { output_index: 0, delta: "A." }) +
      event("response.reasoning_summary_part.added", part) +
      event("response.reasoning_summary_text.delta", { ...part, delta: "B." }) +
      `data: {"type":"response.output_item.done","output_index":0,"item":${json},"sequence_number":7}\n\n` +
      done(1, { ...says("I'll look."), phase: "commentary" }) +
      done(2, says("Bye.")) +
      completed();
    const { outcome, progress, origin } = await read(body);
    expect(outcome).toMatchObject({
      message: {
        content: [
          { type: "thinking", text: "A.\n\nB.", origin },
          { type: "opaque", json, origin },
          { type: "text", text: "I'll look.", phase: "commentary" },
          { type: "text", text: "Bye." },
        ],
      },
    });
    expect(progress.map((each) => ("text" in each ? each.text : ""))).toEqual([
      "A.",
      "\n\n",
      "B.",
      "I'll look.",
      "Bye.",
    ]);
  });

  it.each<[string, string, unknown[]]>([
    ["items in any order", done(1, says("two")) + done(0, says("one")) + completed(), ["one", "two"]],
    ["items only at the end", completed({ output: [says("one"), call] }), ["one", "LS"]],
    ["an end marker of Chat Completions", `${done(0, says("one")) + completed()}data: [DONE]\n\n`, ["one"]],
    [
      "a message in several parts",
      done(0, { type: "message", content: [{ text: "a" }, { refusal: "b" }] }) + completed(),
      ["ab"],
    ],
    [
      "items that nobody asked for",
      done(0, { type: "web_search_call", id: "ws" }) + done(1, call) + completed(),
      ["LS"],
    ],
    [
      "reasoning that can't be sent back",
      done(0, { type: "reasoning", id: "rs", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] }) +
        completed(),
      ["Hm."],
    ],
    ["a call without arguments", done(0, { ...call, arguments: "" }) + completed(), ["LS"]],
  ])("may have %s", async (_, body, expected) => {
    const content = await contentOf(body);
    expect(content.map((block) => ("text" in block ? block.text : "name" in block ? block.name : block.json))).toEqual(
      expected,
    );
  });

  it("keeps only reasoning that is followed by what it was written for, and none after an incomplete call", async () => {
    const reasoning = (id: string) => ({ type: "reasoning", id, summary: [{ text: id }], encrypted_content: "gA==" });
    const alone = await contentOf(done(0, reasoning("rs")) + completed());
    expect(alone.map(({ type }) => type)).toEqual(["thinking"]);
    const items = [
      reasoning("rs_0"),
      says("So."),
      reasoning("rs_1"),
      { ...call, arguments: "{" },
      reasoning("rs_2"),
      call,
    ];
    const content = await contentOf(items.map((item, index) => done(index, item)).join("") + completed());
    expect(content.flatMap((block) => (block.type === "opaque" ? [JSON.parse(block.json).id] : []))).toEqual(["rs_0"]);
    const texts = content.flatMap((block) => ("text" in block ? [block.text] : []));
    expect(texts).toEqual(["rs_0", "So.", "rs_1", "rs_2"]);
  });

  it("may be sent as a whole", async () => {
    const whole = { object: "response", status: "completed", error: null, output: [says("one"), call] };
    const content = await contentOf(JSON.stringify(whole), "application/json");
    expect(content).toMatchObject([{ text: "one" }, { type: "tool_call", inputJson: "{}" }]);
  });

  it.each<[string, object, string, number]>([
    ["its limit", { incomplete_details: { reason: "max_output_tokens" } }, "max_tokens", 1],
    ["a filter", { incomplete_details: { reason: "content_filter" } }, "refusal", 1],
  ])("can be cut off by %s, and its unfinished call is never run", async (_, details, stopReason, incompleteCalls) => {
    const cut = { ...call, arguments: '{"path":"a"', status: "incomplete" };
    const complete = { ...cut, arguments: '{"path":"a"}' };
    for (const item of [cut, complete]) {
      const end = event("response.incomplete", { response: { status: "incomplete", output: [], ...details } });
      const { outcome } = await read(done(0, says("So.")) + done(1, item) + end);
      expect(outcome).toMatchObject({ ok: true, stopReason, incompleteCalls, message: { content: [{ text: "So." }] } });
    }
  });

  it.each<[string, string, string]>([
    [
      "a failed response",
      event("response.failed", {
        response: { status: "failed", error: { code: "rate_limit_exceeded", message: "Slow down." } },
      }),
      "rate_limited",
    ],
    ["an error event", event("error", { code: "server_error", message: "Slow down." }), "server"],
    [
      "an error object in an event",
      event("error", {
        error: { type: "invalid_request_error", code: "context_length_exceeded", message: "Slow down." },
      }),
      "context_overflow",
    ],
    [
      "a cancelled response",
      event("response.completed", { response: { status: "cancelled", error: { message: "Slow down." } } }),
      "server",
    ],
    ["a missing item", event("response.output_item.done", { output_index: 0 }), "protocol"],
    ["no end", done(0, says("one")), "protocol"],
  ])("is an error after %s", async (_, body, code) => {
    const { outcome } = await read(body);
    expect(outcome).toMatchObject({ ok: false, error: { code } });
    if (code !== "protocol") expect(outcome.ok ? "" : outcome.error.message).toContain("Slow down");
  });

  it("counts tokens that were read from the cache and written to it separately", async () => {
    const input_tokens_details = { cached_tokens: 700, cache_write_tokens: 200 };
    const usage = { input_tokens: 1_000, input_tokens_details, output_tokens: 9, total_tokens: 1_009 };
    const { outcome } = await read(done(0, says("one")) + completed({ usage }));
    expect(outcome.usage).toEqual({ inputTokens: 100, cacheReadTokens: 700, cacheWriteTokens: 200, outputTokens: 9 });
  });
});
