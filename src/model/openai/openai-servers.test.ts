import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { answering, atEnd, callerFor, promptOf } from "../wire.test-support.ts";

const chunk = (delta: unknown, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const done = "data: [DONE]\n\n";
const fn = (name: string, text: unknown) => ({ function: { name, arguments: text } });

async function contentOf(body: string) {
  const { outcome } = await callerFor(await answering(body), "openai").call();
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome;
}

describe("OpenAI-compatible servers", () => {
  const expected = [
    { type: "tool_call", callId: "call_0", name: "A", inputJson: '{"x":1}' },
    { type: "tool_call", callId: "call_1", name: "B", inputJson: '{"y":2}' },
  ];

  it.each<[string, string]>([
    [
      "whole calls in one chunk, without ids or indexes",
      chunk({ tool_calls: [fn("A", '{"x":1}'), fn("B", '{"y":2}')] }),
    ],
    [
      "whole calls, one chunk each, all with index 0",
      chunk({ tool_calls: [{ index: 0, id: "a", ...fn("A", '{"x":1}') }] }) +
        chunk({ tool_calls: [{ index: 0, id: "b", ...fn("B", '{"y":2}') }] }),
    ],
    [
      "arguments as objects",
      chunk({
        tool_calls: [
          { index: 0, ...fn("A", { x: 1 }) },
          { index: 1, ...fn("B", { y: 2 }) },
        ],
      }),
    ],
    [
      "name and id with every fragment",
      chunk({ tool_calls: [{ index: 0, id: "a", ...fn("A", '{"x"') }] }) +
        chunk({ tool_calls: [{ index: 0, id: "a", ...fn("A", ":1}") }] }) +
        chunk({ tool_calls: [{ index: 1, id: "b", ...fn("B", '{"y":2}') }] }),
    ],
    [
      "fragments of two calls mixed",
      chunk({
        tool_calls: [
          { index: 0, id: "a", ...fn("A", "") },
          { index: 1, id: "b", ...fn("B", '{"y"') },
        ],
      }) +
        chunk({ tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] }) +
        chunk({
          tool_calls: [
            { index: 1, function: { arguments: ":2}" } },
            { index: 0, function: { arguments: "1}" } },
          ],
        }),
    ],
  ])("%s", async (_, body) => {
    const outcome = await contentOf(body + chunk({}, "stop") + done);
    expect(outcome.message.content).toEqual(expected);
    expect(outcome).toMatchObject({ stopReason: "tool_calls", incompleteCalls: 0 });
  });

  it("may stream reasoning under either name", async () => {
    for (const field of ["reasoning_content", "reasoning"]) {
      const body =
        chunk({ [field]: "hm" }) + chunk({ [field]: "m", content: "" }) + chunk({ content: "yes" }, "stop") + done;
      expect((await contentOf(body)).message.content).toEqual([
        { type: "thinking", text: "hmm", origin: { provider: "openai", model: "test-model" } },
        { type: "text", text: "yes" },
      ]);
    }
  });

  it("may close after the finish reason, without [DONE] or a final newline", async () => {
    expect((await contentOf(chunk({ content: "yes" }, "stop"))).message.content).toEqual([
      { type: "text", text: "yes" },
    ]);
    expect((await contentOf(chunk({ content: "yes" }, "stop").trimEnd())).message.content).toEqual([
      { type: "text", text: "yes" },
    ]);
  });

  it("may respond with one JSON object instead of a stream", async () => {
    const message = { role: "assistant", content: "yes", tool_calls: [{ id: "t", ...fn("A", '{"x":1}') }] };
    const usage = { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } };
    const body = JSON.stringify({ choices: [{ message, finish_reason: "tool_calls" }], usage });
    const { outcome } = await callerFor(await answering(body, "application/json"), "openai").call();
    expect(outcome).toMatchObject({
      ok: true,
      stopReason: "tool_calls",
      message: {
        content: [
          { type: "text", text: "yes" },
          { type: "tool_call", inputJson: '{"x":1}' },
        ],
      },
      usage: { inputTokens: 6, cacheReadTokens: 4, cacheWriteTokens: 0, outputTokens: 2 },
    });
  });

  it.each([
    [{ prompt_tokens_details: { cached_tokens: 4 } }, [6, 4, 0]],
    [{ prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 5 } }, [1, 4, 5]],
    [{ prompt_tokens_details: null, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 }, [6, 4, 0]],
    [{ prompt_tokens_details: { cached_tokens: 0 }, cached_tokens: 4 }, [6, 4, 0]],
    [{ cached_content_token_count: 10 }, [0, 10, 0]],
    [{ cache_read_input_tokens: 3, cache_creation_input_tokens: 99 }, [0, 3, 7]],
    [{ prompt_tokens_details: { cached_tokens: "4" } }, [10, 0, 0]],
  ])("may report cached tokens as %j", async (told, [inputTokens, cacheReadTokens, cacheWriteTokens]) => {
    const usage = { prompt_tokens: 10, completion_tokens: 2, ...told };
    const body = JSON.stringify({ choices: [{ message: { content: "yes" }, finish_reason: "stop" }], usage });
    const { outcome } = await callerFor(await answering(body, "application/json"), "openai").call();
    expect(outcome.usage).toEqual({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens: 2 });
  });

  it("are treated as failed if a stream ends without a finish reason or with incomplete JSON", async () => {
    for (const body of [chunk({ content: "yes" }) + done, '{"choices":[{"message":', "", "data: {not json}\n\n"]) {
      const call = await callerFor(await answering(body), "openai", { retry: { maxAttempts: 2 } }).call();
      expect(call.outcome).toMatchObject({ ok: false, error: { code: "protocol" } });
      expect(call.progress.filter(({ type }) => type === "retried").length).toBe(1);
    }
  });

  it("never cause a call to run if the limit cut it off before its first character", async () => {
    const body = chunk({ tool_calls: [{ index: 0, id: "a", ...fn("A", "") }] }) + chunk({}, "length") + done;
    expect(await contentOf(body)).toMatchObject({
      stopReason: "max_tokens",
      incompleteCalls: 1,
      message: { content: [] },
    });
  });

  it.each<[number, string, string, RegExp]>([
    [404, '{"error":"model \\"qwen\\" not found, try pulling it first"}', "unknown_model", /pulling/],
    [
      400,
      '{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}',
      "context_overflow",
      /Compact/,
    ],
    [422, '{"detail":[{"msg":"field required"}]}', "bad_request", /field required/],
    [404, "404 page not found", "protocol", /base URL/],
    [
      429,
      '{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}',
      "spend_cap",
      /spending limit/,
    ],
  ])("%i %s", async (status, body, code, message) => {
    const { outcome } = await callerFor(await answering(body, "application/json", status), "openai").call();
    expect(outcome).toMatchObject({ ok: false, error: { code, status, message: expect.stringMatching(message) } });
  });

  it("may report an error with status 200", async () => {
    const body = 'data: {"error":{"message":"no slot","type":"server_error"}}\n\n';
    const call = await callerFor(await answering(body), "openai", { retry: { maxAttempts: 2 } }).call();
    expect(call.outcome).toMatchObject({
      ok: false,
      error: { code: "server", message: expect.stringMatching(/no slot.*Tried 2/) },
    });
  });
});

describe("Anthropic-compatible servers", () => {
  const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
  const start = event({ type: "message_start", message: { usage: { input_tokens: 1 } } });
  const stop =
    event({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } }) +
    event({ type: "message_stop" });

  it("may send a call's whole input in its start event", async () => {
    const block =
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"A","input":{"b": 1.0}}}\n\n';
    const body = start + block + event({ type: "content_block_stop", index: 0 }) + stop;
    const { outcome } = await callerFor(await answering(body), "anthropic").call();
    expect(outcome).toMatchObject({ ok: true, message: { content: [{ name: "A", inputJson: '{"b": 1.0}' }] } });
  });

  it("may never close a call, which is then left out", async () => {
    const block = event({
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", name: "A", input: {} },
    });
    const { outcome } = await callerFor(await answering(start + block + stop), "anthropic").call();
    expect(outcome).toMatchObject({ ok: true, incompleteCalls: 1, message: { content: [] } });
  });

  it("may stream a provider's own tool, whose input becomes part of the block", async () => {
    const block = event({
      type: "content_block_start",
      index: 0,
      content_block: { type: "server_tool_use", id: "s", name: "web_search", input: {} },
    });
    const delta = event({
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: '{"query": "x"}' },
    });
    const body = start + block + delta + event({ type: "content_block_stop", index: 0 }) + stop;
    const { outcome } = await callerFor(await answering(body), "anthropic").call();
    const [opaque] = outcome.ok ? outcome.message.content : [];
    expect(opaque).toMatchObject({
      type: "opaque",
      json: '{"type":"server_tool_use","id":"s","name":"web_search","input":{"query": "x"}}',
    });
  });

  it("may leave out the lifetime of cache writes, in which case the requested one is assumed", async () => {
    const usage = { input_tokens: 1, cache_creation_input_tokens: 30 };
    const caller = callerFor(await answering(event({ type: "message_start", message: { usage } }) + stop), "anthropic");
    const prompt = promptOf();
    expect((await caller.call({ prompt })).outcome.usage).not.toHaveProperty("cacheWrite1hTokens");
    const long = { ...prompt, head: { ...prompt.head, cacheLifetime: "1h" as const } };
    expect((await caller.call({ prompt: long })).outcome.usage).toMatchObject({ cacheWrite1hTokens: 30 });
  });

  it("may respond with one JSON object instead of a stream", async () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "yes" },
      { type: "tool_use", name: "A", input: { x: 1 } },
    ];
    const body = JSON.stringify({
      type: "message",
      content,
      stop_reason: "tool_use",
      usage: { input_tokens: 3, output_tokens: 4 },
    });
    const { outcome } = await callerFor(await answering(body, "application/json"), "anthropic").call();
    expect(outcome).toMatchObject({
      ok: true,
      stopReason: "tool_calls",
      message: { content: [{ text: "hm", signature: "s" }, { text: "yes" }, { name: "A", inputJson: '{"x":1}' }] },
      usage: { inputTokens: 3, outputTokens: 4 },
    });
  });
});

describe("a gateway that compresses", () => {
  it("is reported as the cause after a single attempt", async () => {
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        response.writeHead(200, { "content-encoding": "gzip" });
        response.end(gzipSync("data: [DONE]\n\n"));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    atEnd(() => new Promise((resolve) => server.close(() => resolve())));
    const call = await callerFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "openai").call();
    expect(call.outcome).toMatchObject({
      ok: false,
      error: { code: "protocol", message: expect.stringMatching(/gzip/) },
    });
    expect(call.progress).toEqual([]);
  });
});
