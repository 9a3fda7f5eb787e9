import { describe, expect, it } from "vitest";
import type { AssistantBlock } from "../../protocol/index.ts";
import { answering, callerFor } from "../wire.test-support.ts";

const event = (chunk: object) => `data: ${JSON.stringify(chunk)}\r\n\r\n`;
const candidate = (...parts: object[]) => ({ candidates: [{ content: { parts, role: "model" }, index: 0 }] });
const parts = (...all: object[]) => event(candidate(...all));
const end = (finishReason = "STOP", more: object = {}) => event({ candidates: [{ finishReason, index: 0 }], ...more });
const call = (args: unknown, name = "Read") => ({ functionCall: { id: "f1", name, args } });
const origin = { provider: "gemini", model: "test-model" };
const opaque = (json: string): AssistantBlock => ({ type: "opaque", json, origin });

async function read(body: string, contentType?: string) {
  const url = await answering(body, contentType);
  return callerFor(url, "gemini", { retry: { maxAttempts: 1 } }).call();
}

async function answerTo(body: string, contentType?: string) {
  const { outcome } = await read(body, contentType);
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome;
}

describe("a response in the Gemini dialect", () => {
  it("keeps every signature exactly as it arrived, at the part to which it belongs", async () => {
    const { message } = await answerTo(
      parts({ text: "Hm", thought: true }) +
        parts({ text: "m.", thought: true, thoughtSignature: "ccc+/=" }) +
        parts({ text: "Let " }, { text: "me see.", thoughtSignature: "aaa=" }) +
        parts({ ...call({ path: "a" }), thoughtSignature: "bbb=" }, call({}, "LS")) +
        parts({ text: "", thoughtSignature: "ddd=" }) +
        end(),
    );
    expect(message.content).toEqual([
      { type: "thinking", text: "Hmm.", origin },
      opaque('{"thoughtSignature":"ccc+/=","thought":true,"text":"m."}'),
      { type: "text", text: "Let me see." },
      opaque('{"thoughtSignature":"aaa=","text":""}'),
      opaque('{"thoughtSignature":"bbb="}'),
      { type: "tool_call", callId: "call_0", name: "Read", inputJson: '{"path":"a"}' },
      { type: "tool_call", callId: "call_1", name: "LS", inputJson: "{}" },
      opaque('{"thoughtSignature":"ddd=","text":""}'),
    ]);
  });

  it("is shown while it is written: text, thinking and calls", async () => {
    const { progress } = await read(
      parts({ text: "Hm.", thought: true }) + parts({ text: "So." }, call({ a: 1 })) + end(),
    );
    expect(progress).toEqual([
      { type: "thinking.delta", text: "Hm." },
      { type: "text.delta", text: "So." },
      { type: "call.delta", index: 0, name: "Read", json: "" },
      { type: "call.delta", index: 0, name: "Read", json: '{"a":1}' },
    ]);
  });

  it("may contain parts and fields that are not known, and calls without arguments", async () => {
    const unknown = [{ executableCode: { code: "1" } }, { inlineData: { data: "AA==" } }, {}, { text: 5 }];
    const { message, incompleteCalls } = await answerTo(
      event({ responseId: "r" }) +
        parts(...unknown, { functionCall: { name: "LS" } }) +
        event({ candidates: [] }) +
        end(),
    );
    expect(message.content).toEqual([{ type: "tool_call", callId: "call_0", name: "LS", inputJson: "{}" }]);
    expect(incompleteCalls).toBe(0);
  });

  it.each([[{ candidates: [candidate({ text: "one" }).candidates[0], { index: 1 }] }], [candidate({ text: "one" })]])(
    "may be sent as a whole, and then needs a finish reason: %j",
    async (chunk) => {
      const [first] = chunk.candidates;
      const whole = { ...chunk, candidates: [{ ...first, finishReason: "STOP" }] };
      expect((await answerTo(JSON.stringify(whole), "application/json")).message.content).toMatchObject([
        { text: "one" },
      ]);
      const { outcome } = await read(JSON.stringify(chunk), "application/json");
      expect(outcome).toMatchObject({ ok: false, error: { code: "protocol" } });
    },
  );

  it.each([
    ["STOP", "end_turn", 0],
    ["MAX_TOKENS", "max_tokens", 0],
    ["SAFETY", "refusal", 0],
    ["RECITATION", "refusal", 0],
    ["LANGUAGE", "refusal", 0],
    ["BLOCKLIST", "refusal", 0],
    ["PROHIBITED_CONTENT", "refusal", 0],
    ["SPII", "refusal", 0],
    ["MALFORMED_FUNCTION_CALL", "end_turn", 1],
    ["UNEXPECTED_TOOL_CALL", "end_turn", 1],
    ["TOO_MANY_TOOL_CALLS", "end_turn", 1],
    ["SOMETHING_NEW", "end_turn", 0],
  ])("can end because of %s", async (reason, stopReason, incompleteCalls) => {
    const answer = await answerTo(parts({ text: "So." }) + end(reason));
    expect(answer).toMatchObject({ stopReason, incompleteCalls, message: { content: [{ text: "So." }] } });
  });

  it("is a refusal without content if the prompt is blocked", async () => {
    const answer = await answerTo(event({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }));
    expect(answer).toMatchObject({ stopReason: "refusal", message: { content: [] } });
  });

  it("includes what follows the finish reason", async () => {
    const answer = await answerTo(
      parts({ text: "So" }) + end() + parts({ text: "." }) + event({ usageMetadata: usage }),
    );
    expect(answer.message.content).toEqual([{ type: "text", text: "So." }]);
    expect(answer.usage.outputTokens).toBe(12);
  });

  const usage = {
    promptTokenCount: 1_000,
    toolUsePromptTokenCount: 50,
    cachedContentTokenCount: 700,
    candidatesTokenCount: 9,
    thoughtsTokenCount: 3,
  };

  it("counts thoughts as output, and cached tokens separately", async () => {
    const answer = await answerTo(parts({ text: "So." }) + end("STOP", { usageMetadata: usage }));
    const counted = { inputTokens: 350, cacheReadTokens: 700, cacheWriteTokens: 0, outputTokens: 12 };
    expect(answer.usage).toEqual(counted);
  });

  it.each<[string, string, string]>([
    ["an overload", event({ error: { code: 503, message: "Slow down.", status: "UNAVAILABLE" } }), "server"],
    ["a limit", event({ error: { code: 429, message: "Slow down.", status: "RESOURCE_EXHAUSTED" } }), "rate_limited"],
    ["a missing permission", event({ error: { message: "Slow down.", status: "PERMISSION_DENIED" } }), "auth"],
    [
      "an error that is no event",
      JSON.stringify({ error: { code: 400, message: "Slow\n down.", status: "INVALID_ARGUMENT" } }, null, 2),
      "bad_request",
    ],
    ["JSON that is neither", '{"weather":"changed"}', "protocol"],
    ["no finish reason", "", "protocol"],
    ["text that is not JSON", "data: {\r\n\r\n", "protocol"],
  ])("is an error after %s", async (_, body, code) => {
    const { outcome } = await read(parts({ text: "one" }) + body);
    expect(outcome).toMatchObject({ ok: false, error: { code }, partial: [{ type: "text", text: "one" }] });
    if (code !== "protocol") expect(outcome.ok ? "" : outcome.error.message).toContain("Slow down");
  });
});
