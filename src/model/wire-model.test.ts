import { describe, expect, it } from "vitest";
import type { ModelRequest } from "../ports/index.ts";
import { dialects } from "../protocol/index.ts";
import { type Fault, messagesOf } from "../testing/index.ts";
import { callerFor, promptOf, serve, testKey, textDeltas } from "./wire.test-support.ts";

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
        : dialect === "gemini"
          ? { "x-goog-api-key": testKey }
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
    // Google returns inputs as objects, and makes no promise about their text.
    const inputJson = dialect === "gemini" ? '{"z":1,"a":"é"}' : '{"z":1.0, "a" : "\\u00e9"}';
    expect(call.outcome).toMatchObject({
      ok: true,
      stopReason: "tool_calls",
      incompleteCalls: 0,
      message: {
        content: [
          { type: "text", text: "I'll look." },
          { type: "tool_call", callId: "call_0", name: "Read", inputJson },
          { type: "tool_call", callId: "call_1", name: "LS", inputJson: "{}" },
        ],
      },
    });
    const fragments = call.progress.filter((event) => event.type === "call.delta" && event.index === 0);
    expect(fragments.map((event) => ("json" in event ? event.json : "")).join("")).toBe(inputJson);
  });

  it("counts tokens, and cached tokens separately", async () => {
    const usage = { inputTokens: 11, outputTokens: 7, cacheReadTokens: 1000, cacheWriteTokens: 30 };
    const server = await serve({ script: [{ content: "yes", usage }] });
    const { outcome } = await callerFor(server.url, dialect).call();
    if (!outcome.ok) throw new Error(outcome.error.message);
    const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = outcome.usage;
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBe(1041);
    expect({ cacheReadTokens, outputTokens }).toEqual({ cacheReadTokens: 1000, outputTokens: 7 });
    if (dialect === "anthropic" || dialect === "responses") expect(cacheWriteTokens).toBe(30);
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

describe("thinking that the provider refuses", () => {
  const message = "The block is bound to a different conversation.";
  const refusal: Fault = { kind: "status", status: 400, message };
  const bare = promptOf("without thinking");

  it("is left out of a second attempt, which is not charged for the first", async () => {
    const server = await serve({ script: [{ reply: { content: "yes" }, faults: [refusal] }] });
    const { outcome, progress } = await callerFor(server.url, "anthropic").call({ withoutThinking: async () => bare });
    expect(outcome).toMatchObject({ ok: true, message: { content: [{ type: "text", text: "yes" }] } });
    expect(outcome).not.toHaveProperty("lostUsage");
    expect(progress[0]).toMatchObject({ type: "retried", retry: { attempt: 1, delayMs: 0, status: 400 } });
    expect(server.requests.map((request) => messagesOf(request)[0]?.text)).toEqual(["hello", "without thinking"]);
    server.assertDone();
  });

  it("does not hide what an earlier attempt has cost", async () => {
    const faults: Fault[] = [{ kind: "close", afterBytes: 900 }, refusal];
    const server = await serve({ script: [{ reply: { content: "yes".repeat(300) }, faults }] });
    const { outcome } = await callerFor(server.url, "anthropic").call({ withoutThinking: async () => bare });
    expect(outcome).toMatchObject({ ok: true, lostUsage: { outputTokens: expect.any(Number) } });
    expect(server.requests).toHaveLength(3);
  });

  it.each<[string, number, Partial<ModelRequest>]>([
    ["the provider refuses the second attempt too", 2, { withoutThinking: async () => bare }],
    ["the prompt has no thinking", 1, { withoutThinking: async () => undefined }],
    ["the caller can't leave it out", 1, {}],
  ])("is an error if %s", async (_, requests, request) => {
    const server = await serve({ script: () => ({ content: "", fault: refusal }) });
    const { outcome } = await callerFor(server.url, "anthropic").call(request);
    expect(outcome).toMatchObject({ ok: false, error: { code: "thinking_refused", status: 400 } });
    expect(outcome.ok ? "" : outcome.error.message).toMatch(/refused the thinking.*Start a new session/);
    expect(server.requests).toHaveLength(requests);
  });
});
