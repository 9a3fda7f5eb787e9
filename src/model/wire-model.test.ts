import { describe, expect, it } from "vitest";
import { callerFor, type Dialect, promptOf, serve, testKey, textDeltas } from "./wire.test-support.ts";

const dialects: readonly Dialect[] = ["anthropic", "openai"];

describe.each(dialects)("a model over HTTP, %s", (dialect) => {
  it("returns the text of the response, and its deltas as they arrive", async () => {
    const server = await serve({ script: [{ content: [{ text: ["Hello", ", ", "wörld 🙂 你好"] }] }] });
    const call = await callerFor(server.url, dialect).call();
    expect(call.outcome).toMatchObject({
      ok: true,
      stopReason: "end_turn",
      incompleteCalls: 0,
      message: { role: "assistant", content: [{ type: "text", text: "Hello, wörld 🙂 你好" }] },
    });
    expect(textDeltas(call)).toBe("Hello, wörld 🙂 你好");
    expect(call.progress.filter((event) => event.type === "text.delta").length).toBeGreaterThan(1);
    server.assertDone();
  });

  it("sends the prompt's bytes unchanged, with length, key and version", async () => {
    const server = await serve({ script: [{ content: "yes" }] });
    const prompt = promptOf("grüße");
    await callerFor(server.url, dialect).call({ prompt });
    const [request] = server.requests;
    expect(request?.rawBody.equals(Buffer.concat(prompt.body(dialect, 1_000)))).toBe(true);
    expect(request?.headers).toMatchObject({
      "content-length": String(request?.bodyBytes),
      "accept-encoding": "identity",
      "content-type": "application/json",
      ...(dialect === "anthropic"
        ? { "x-api-key": testKey, "anthropic-version": "2023-06-01" }
        : { authorization: `Bearer ${testKey}` }),
    });
    expect(request?.headers["transfer-encoding"]).toBeUndefined();
  });

  it("sends a large body in pieces without changing it", async () => {
    const server = await serve({ script: [{ content: "yes" }] });
    const prompt = promptOf("0123456789".repeat(40_000));
    const { outcome } = await callerFor(server.url, dialect).call({ prompt });
    expect(outcome.ok).toBe(true);
    expect(server.requests[0]?.rawBody.equals(Buffer.concat(prompt.body(dialect, 1_000)))).toBe(true);
  });

  it("keeps tool input as the model wrote it, and assigns its own call ids", async () => {
    const server = await serve({
      script: [
        {
          content: [
            "I'll look.",
            { tool: "Read", id: "theirs_1", inputJson: ['{"z":1.0', ', "a" :', ' "\\u00e9"}'] },
            { tool: "LS", id: "theirs_2", inputJson: "" },
          ],
        },
      ],
    });
    const call = await callerFor(server.url, dialect).call();
    expect(call.outcome).toMatchObject({
      ok: true,
      stopReason: "tool_calls",
      incompleteCalls: 0,
      message: {
        content: [
          { type: "text", text: "I'll look." },
          { type: "tool_call", callId: "call_0", name: "Read", inputJson: '{"z":1.0, "a" : "\\u00e9"}' },
          { type: "tool_call", callId: "call_1", name: "LS", inputJson: "{}" },
        ],
      },
    });
    const fragments = call.progress.filter((event) => event.type === "call.delta" && event.index === 0);
    expect(fragments.map((event) => ("json" in event ? event.json : "")).join("")).toBe('{"z":1.0, "a" : "\\u00e9"}');
  });

  it("counts tokens, and cached tokens separately", async () => {
    const usage = { inputTokens: 11, outputTokens: 7, cacheReadTokens: 1000, cacheWriteTokens: 30 };
    const server = await serve({ script: [{ content: "yes", usage }] });
    const { outcome } = await callerFor(server.url, dialect).call();
    if (!outcome.ok) throw new Error(outcome.error.message);
    const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = outcome.usage;
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBe(1041);
    expect({ cacheReadTokens, outputTokens }).toEqual({ cacheReadTokens: 1000, outputTokens: 7 });
    if (dialect === "anthropic") expect(cacheWriteTokens).toBe(30);
  });

  it("uses one connection for consecutive calls", async () => {
    const server = await serve({ script: [{ content: "one" }, { content: "two" }, { content: "three" }] });
    const caller = callerFor(server.url, dialect);
    for (let index = 0; index < 3; index += 1) expect((await caller.call()).outcome.ok).toBe(true);
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(1);
  });
});

describe("features that only one dialect has", () => {
  it("include separate counts for tokens cached for an hour", async () => {
    const usage = { inputTokens: 1, cacheWriteTokens: 30, cacheWrite1hTokens: 20 };
    const server = await serve({ script: [{ content: "yes", usage }] });
    expect((await callerFor(server.url, "anthropic").call()).outcome.usage).toMatchObject({
      cacheWriteTokens: 30,
      cacheWrite1hTokens: 20,
    });
  });

  it("include thinking with its signature, and unknown blocks as raw JSON", async () => {
    const block = { type: "strange_block", n: 1.5, nested: { "a}": '"]' } };
    const server = await serve({
      script: [
        {
          content: [
            { thinking: ["Let me", " think"], signature: "sig+/=" },
            { redactedThinking: "opaque+data==" },
            { block },
            "done",
          ],
        },
      ],
    });
    const call = await callerFor(server.url, "anthropic").call();
    const origin = { provider: "anthropic", model: "test-model" };
    expect(call.outcome).toMatchObject({
      ok: true,
      message: {
        content: [
          { type: "thinking", text: "Let me think", origin },
          { type: "opaque", json: JSON.stringify({ type: "redacted_thinking", data: "opaque+data==" }), origin },
          { type: "opaque", json: JSON.stringify(block), origin },
          { type: "text", text: "done" },
        ],
      },
    });
    const [thinking] = call.outcome.ok ? call.outcome.message.content : [];
    expect(thinking).toHaveProperty("signature", expect.stringMatching(/.+/));
    expect(call.progress).toContainEqual({ type: "thinking.delta", text: "Let me" });
  });
});
