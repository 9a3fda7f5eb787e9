import type { createAnthropic as createV3 } from "@ai-sdk/anthropic";
import type { createOpenAI } from "@ai-sdk/openai";
import type { createAnthropic as createV2 } from "ai-sdk-anthropic-v2";
import type { createOpenAICompatible } from "ai-sdk-openai-compatible-v2";
import { describe, expect, expectTypeOf, it } from "vitest";
import { Chain } from "../conversation/index.ts";
import { createProgramModel } from "../model/index.ts";
import { createLimiter } from "../model/limits/limiter.ts";
import { callModel, realClock } from "../model/wire.test-support.ts";
import type { AssistantMessage, Head, Message, ModelOutcome, UserBlock } from "../protocol/index.ts";
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "./index.ts";

type Part = { readonly type: string; readonly [field: string]: unknown };

/** What the model was asked for. */
interface Asked {
  readonly prompt: readonly { readonly role: string; readonly content: unknown; readonly providerOptions?: unknown }[];
  readonly [field: string]: unknown;
}

const whole = {
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage: { inputTokens: { total: 10, noCache: 10 }, outputTokens: { total: 2 } },
};
const hello: readonly Part[] = [{ type: "text-delta", id: "1", delta: "Hello." }, whole];

/** A language model of any specification, whose streams consist of these parts. */
function sdkModel(streams: readonly (readonly Part[])[], more: Partial<AiSdkModel> = {}) {
  const asked: Asked[] = [];
  const model: AiSdkModel = {
    specificationVersion: "v4",
    provider: "own",
    modelId: "m-1",
    doStream(options: Asked) {
      asked.push(options);
      const parts = streams[asked.length - 1] ?? hello;
      return Promise.resolve({ stream: streamOf(parts) });
    },
    ...more,
  };
  return { model, asked };
}

function streamOf(parts: readonly Part[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

const tools = [{ name: "LS", description: "Lists.", inputSchema: { type: "object", properties: {} } }];
const base = { provider: "own", model: "m-1", dialect: "openai", system: "Be brief.", userContext: "" } as const;
const head: Head = { ...base, tools, systemContext: "linux" };

interface Talk extends AiSdkOptions {
  readonly head?: Partial<Head>;
  readonly content?: readonly UserBlock[];
}

/** Sends the messages, and returns the outcome. A call's id is `c` with its index. */
async function ask(model: AiSdkModel, messages: readonly Message[] = [], { head: own, ...options }: Talk = {}) {
  const chain = new Chain({ ...head, ...own });
  const user: Message = { role: "user", content: [{ type: "text", text: "Hi." }] };
  for (const message of [user, ...messages]) chain.append(message);
  const adapted = createProgramModel(fromAiSdk(model, options), {
    limiter: createLimiter({ clock: realClock }),
    clock: realClock,
    retry: { maxAttempts: 1 },
  });
  return callModel(adapted, { prompt: chain.request(), callId: (index) => `c${index}` });
}

function messageOf({ outcome }: { readonly outcome: ModelOutcome }): AssistantMessage {
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome.message;
}

const answered = (callId: string): Message => ({
  role: "user",
  content: [{ type: "tool_result", callId, content: [{ type: "text", text: "x" }], isError: false }],
});

it("takes the models of packages of specification V2 and V3, and objects of V4", () => {
  expectTypeOf<ReturnType<ReturnType<typeof createV2>>>().toExtend<AiSdkModel>();
  expectTypeOf<ReturnType<ReturnType<typeof createOpenAICompatible>>>().toExtend<AiSdkModel>();
  expectTypeOf<ReturnType<ReturnType<typeof createV3>>>().toExtend<AiSdkModel>();
  expectTypeOf<ReturnType<ReturnType<typeof createOpenAI>>>().toExtend<AiSdkModel>();
});

it.each([
  ['the text "anthropic/claude"', "anthropic/claude"],
  ["specification v1", { specificationVersion: "v1", doStream() {} }],
  ["specification unknown", {}],
])("refuses %s", (given, model) => {
  expect(() => fromAiSdk(model as never)).toThrow(`of specification v2, v3 or v4, but got ${given}. Pass the object`);
});

describe("a response", () => {
  it("is returned block by block, with everything that the provider needs back", async () => {
    const signed = (signature: string) => ({ own: { signature } });
    const { model, asked } = sdkModel([
      [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: "r1" },
        { type: "reasoning-start", id: "1" },
        { type: "reasoning-delta", id: "1", delta: "Hm" },
        { type: "reasoning-delta", id: "1", delta: ".", providerMetadata: signed("s1") },
        { type: "reasoning-end", id: "1" },
        { type: "reasoning-start", id: "2", providerMetadata: { own: { redacted: "r" } } },
        { type: "reasoning-end", id: "2" },
        { type: "text-start", id: "3" },
        { type: "text-delta", id: "3", delta: "Look\ud800" },
        { type: "text-end", id: "3", providerMetadata: signed("s2") },
        { type: "ping" },
        { type: "raw", rawValue: {} },
        { type: "source", sourceType: "url", id: "u", url: "https://example.com" },
        { type: "something-new", id: "n" },
        { type: "tool-input-start", id: "t1", toolName: "LS" },
        { type: "tool-input-delta", id: "t1", delta: "{" },
        { type: "tool-input-delta", id: "t1", delta: "}" },
        { type: "tool-input-end", id: "t1" },
        { type: "tool-call", toolCallId: "t1", toolName: "LS", input: "{}", providerMetadata: signed("s3") },
        { type: "tool-call", toolCallId: "w1", toolName: "search", input: '{"q":1}', providerExecuted: true },
        { type: "tool-result", toolCallId: "w1", toolName: "search", result: [], preliminary: true },
        { type: "tool-result", toolCallId: "w1", toolName: "search", result: ["hit"], providerMetadata: signed("s4") },
        { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2]) } },
        {
          type: "reasoning-file",
          mediaType: "image/png",
          data: { type: "url", url: new URL("https://example.com/a") },
        },
        { type: "custom", kind: "own.thing", providerMetadata: signed("s5") },
        { type: "tool-approval-request", approvalId: "a1", toolCallId: "w1" },
        { type: "reasoning-delta", id: "4", delta: "After.", providerMetadata: signed("s6") },
        { type: "tool-input-start", id: "t2", toolName: "LS" },
        { ...whole, finishReason: { unified: "tool-calls", raw: "tool_use" } },
      ],
    ]);
    const call = await ask(model);
    const message = messageOf(call);
    expect(call.outcome).toMatchObject({ stopReason: "tool_calls", incompleteCalls: 1 });
    expect(message.content.filter(({ type }) => type !== "opaque")).toMatchObject([
      { type: "thinking", text: "Hm." },
      { type: "thinking", text: "" },
      { type: "text", text: "Look\ufffd" },
      { type: "tool_call", callId: "c0", name: "LS", inputJson: "{}" },
      { type: "thinking", text: "After." },
    ]);
    expect(call.progress.flatMap((event) => ("json" in event ? event.json : []))).toEqual(["", "{", "}", ""]);
    expect(call.progress.flatMap((event) => (event.type === "notice" ? event.message : []))).toEqual([
      "m-1 wrote a file (image/png), which is not shown.",
      "own asked to execute a call itself, which was denied.",
    ]);

    await ask(model, [message, answered("c0")]);
    const [, , answer, denied, results] = asked[1]?.prompt ?? [];
    expect(answer).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", providerOptions: signed("s1") },
        { type: "reasoning", text: "", providerOptions: { own: { redacted: "r" } } },
        { type: "text", text: "Look\ufffd", providerOptions: signed("s2") },
        { type: "tool-call", toolCallId: "t1", toolName: "LS", input: {}, providerOptions: signed("s3") },
        { type: "tool-call", toolCallId: "w1", toolName: "search", input: { q: 1 }, providerExecuted: true },
        {
          type: "tool-result",
          toolCallId: "w1",
          toolName: "search",
          output: { type: "json", value: ["hit"] },
          providerOptions: signed("s4"),
        },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AQI=" } },
        {
          type: "reasoning-file",
          mediaType: "image/png",
          data: { type: "url", url: new URL("https://example.com/a") },
        },
        { type: "custom", kind: "own.thing", providerOptions: signed("s5") },
        { type: "reasoning", text: "After.", providerOptions: signed("s6") },
      ],
    });
    expect(denied).toMatchObject({ content: [{ type: "tool-approval-response", approvalId: "a1", approved: false }] });
    expect(results).toEqual({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "t1", toolName: "LS", output: { type: "text", value: "x" } }],
    });
  });

  it("goes to another model without what only the first one understands, and with ids of Retinue's own", async () => {
    const first = sdkModel([
      [
        { type: "reasoning-delta", id: "1", delta: "Hm.", providerMetadata: { own: { signature: "s" } } },
        { type: "tool-call", toolCallId: "t1", toolName: "LS", input: "", providerMetadata: { own: { id: 1 } } },
        whole,
      ],
    ]);
    const message = messageOf(await ask(first.model));
    const second = sdkModel([], { modelId: "m-2" });
    await ask(second.model, [message, answered("c0")]);
    expect(second.asked[0]?.prompt.slice(2)).toMatchObject([
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c0", toolName: "LS", input: {} }] },
      { role: "tool", content: [{ toolCallId: "c0" }] },
    ]);
    expect(JSON.stringify(second.asked)).not.toContain("Hm.");
  });

  it("contains no thinking after a call that is sent with another id", async () => {
    const { model, asked } = sdkModel([
      [
        { type: "tool-call", toolCallId: "t1", toolName: "LS", input: "{}" },
        { type: "reasoning-delta", id: "1", delta: "Hm." },
        whole,
      ],
    ]);
    await ask(model, [messageOf(await ask(model)), answered("c0")]);
    expect(JSON.stringify(asked[1])).not.toContain("Hm.");
  });

  it.each<[string, Part["finishReason"], string]>([
    ["V2", "stop", "end_turn"],
    ["V2", "length", "max_tokens"],
    ["V2", "content-filter", "refusal"],
    ["V2", "other", "end_turn"],
    ["V3", { unified: "stop", raw: "stop_sequence" }, "stop_sequence"],
    ["V3", { unified: "stop", raw: "pause_turn" }, "pause"],
    ["V3", { unified: "content-filter", raw: "refusal" }, "refusal"],
    ["V4", { unified: "other", raw: "something" }, "end_turn"],
  ])("has the stop reason that means the same (%s, %j)", async (_, finishReason, stopReason) => {
    const { model } = sdkModel([[hello[0]!, { ...whole, finishReason }]]);
    expect((await ask(model)).outcome).toMatchObject({ ok: true, stopReason });
  });

  it.each<[string, Partial<AiSdkModel>, object, readonly number[]]>([
    [
      "V2",
      { provider: "openai.chat" },
      { usage: { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 } },
      [6, 4, 0, 2],
    ],
    [
      "V2 of Anthropic",
      { provider: "anthropic.messages" },
      {
        usage: { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 },
        providerMetadata: { anthropic: { cacheCreationInputTokens: 3 } },
      },
      [10, 4, 3, 2],
    ],
    [
      "V3",
      {},
      { usage: { inputTokens: { total: 10, noCache: 5, cacheRead: 4, cacheWrite: 1 }, outputTokens: { total: 2 } } },
      [5, 4, 1, 2],
    ],
    [
      "V4 without all numbers",
      {},
      { usage: { inputTokens: { total: 10, cacheRead: 4 }, outputTokens: { text: 1, reasoning: 2 } } },
      [6, 4, 0, 3],
    ],
    ["none", {}, { usage: undefined }, [0, 0, 0, 0]],
  ])("has the usage of specification %s", async (_, more, finish, counts) => {
    const { model } = sdkModel([[hello[0]!, { ...whole, ...finish }]], more);
    const [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens] = counts;
    const usage = { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens };
    expect((await ask(model)).outcome).toMatchObject({ ok: true, usage });
  });

  it("reports warnings as notices", async () => {
    const warnings = [
      { type: "unsupported-setting", setting: "seed", details: "It is ignored." },
      { type: "unsupported-tool", tool: { type: "function", name: "LS" } },
      { type: "unsupported", feature: "topK" },
      { type: "compatibility", feature: "files" },
      { type: "deprecated", setting: "mode", message: "Use modes." },
      { type: "other", message: "Slow today." },
    ];
    const { model } = sdkModel([[{ type: "stream-start", warnings }, ...hello]]);
    const { progress } = await ask(model);
    expect(progress.flatMap((event) => (event.type === "notice" ? event.message : []))).toEqual([
      "own does not support seed: It is ignored.",
      "own does not support LS.",
      "own does not support topK.",
      "own reports compatibility use of files.",
      "own reports deprecated use of mode: Use modes.",
      "own: Slow today.",
    ]);
  });

  const noReason = { ...whole, usage: undefined };
  it.each<[string, readonly Part[], string]>([
    ["without an end", hello.slice(0, 1), "connection"],
    ["whose end has no reason (V2)", [hello[0]!, { ...noReason, finishReason: "unknown" }], "connection"],
    ["whose end has no reason (V3)", [hello[0]!, { ...noReason, finishReason: { unified: "other" } }], "connection"],
    ["that was interrupted (V4)", [hello[0]!, { ...whole, finishReason: { unified: "interrupted" } }], "connection"],
    ["that reports an overload", [{ type: "error", error: { type: "overloaded_error", message: "no" } }], "overloaded"],
    ["that ends with an error", [{ ...whole, finishReason: { unified: "error" } }], "connection"],
    [
      "that ends after an event that the package does not know",
      [hello[0]!, { type: "error", error: Object.assign(new Error("?"), { name: "AI_TypeValidationError" }) }],
      "protocol",
    ],
  ])("is a failure %s", async (_, parts, code) => {
    expect((await ask(sdkModel([parts]).model)).outcome).toMatchObject({ ok: false, error: { code } });
  });

  it("is whole if it continues after an event that the package does not know", async () => {
    const error = Object.assign(new Error("?"), { name: "AI_TypeValidationError" });
    const { model } = sdkModel([[{ type: "error", error }, ...hello]]);
    expect(messageOf(await ask(model)).content).toEqual([{ type: "text", text: "Hello." }]);
  });

  it("ends when the signal fires, even if the provider ignores it", async () => {
    let isCancelled = false;
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue({ type: "text-delta", id: "1", delta: "Half" }),
      cancel() {
        isCancelled = true;
      },
    });
    const { model } = sdkModel([], { doStream: async () => ({ stream }) });
    const stop = new AbortController();
    const chain = new Chain(head);
    chain.append({ role: "user", content: [{ type: "text", text: "Hi." }] });
    const request = { prompt: chain.request(), signal: stop.signal };
    const calling = callModel(fromAiSdk(model), request, () => stop.abort(new Error("stopped")));
    await expect(calling).rejects.toThrow("stopped");
    expect(isCancelled).toBe(true);
  });
});

describe("a request", () => {
  const image = { type: "image", mediaType: "image/png", data: "AQI=" } as const;
  const withImage: Message = {
    role: "user",
    content: [
      { type: "tool_result", callId: "c0", content: [image], isError: true },
      { type: "text", text: "And this?" },
      { type: "text", text: " " },
      image,
    ],
  };
  const called: Message = {
    role: "assistant",
    content: [{ type: "tool_call", callId: "c0", name: "LS", inputJson: '{"a":1}' }],
  };

  it.each<[AiSdkModel["specificationVersion"], unknown]>([
    ["v2", "AQI="],
    ["v3", "AQI="],
    ["v4", { type: "data", data: "AQI=" }],
  ])("has images in the form of specification %s", async (specificationVersion, data) => {
    const { model, asked } = sdkModel([], { specificationVersion });
    await ask(model, [called, withImage]);
    const file = { type: "file", mediaType: "image/png", data };
    expect(asked[0]?.prompt).toEqual([
      { role: "system", content: "Be brief.\n\nlinux" },
      { role: "user", content: [{ type: "text", text: "Hi." }] },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c0", toolName: "LS", input: { a: 1 } }] },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "c0",
            toolName: "LS",
            output: { type: "error-text", value: "Error: (image follows)" },
          },
        ],
      },
      { role: "user", content: [file, { type: "text", text: "And this?" }, file] },
    ]);
  });

  it("has tools, limits, the schema of the answer and the provider's options", async () => {
    const { model, asked } = sdkModel([]);
    const providerOptions = { own: { mode: "fast" } };
    const chain = new Chain({ ...head, effort: "high" });
    chain.append({ role: "user", content: [{ type: "text", text: "Hi." }] });
    const answerSchema = { type: "object", properties: {} };
    await callModel(fromAiSdk(model, { providerOptions }), { prompt: chain.request(), maxTokens: 50, answerSchema });
    expect(asked[0]).toMatchObject({
      tools: [{ type: "function", strict: false, ...tools[0] }],
      toolChoice: { type: "auto" },
      maxOutputTokens: 50,
      responseFormat: { type: "json", schema: answerSchema },
      reasoning: "high",
      providerOptions,
      abortSignal: expect.any(AbortSignal),
    });
  });

  it("has no effort and no strict tools before V4 and V3", async () => {
    const { model, asked } = sdkModel([], { specificationVersion: "v2" });
    await ask(model, [], { head: { effort: "high" } });
    expect(asked[0]).not.toHaveProperty("reasoning");
    expect(asked[0]?.["tools"]).toEqual([{ type: "function", ...tools[0] }]);
    expect(fromAiSdk(model).describe()).toMatchObject({ efforts: [], window: 128_000, maxOutputTokens: 8_192 });
  });

  it("marks the system text and the two newest user turns for Claude's cache", async () => {
    const { model, asked } = sdkModel([], { provider: "anthropic.messages", modelId: "claude-opus-5-5" });
    const said: Message = { role: "assistant", content: [{ type: "text", text: "Yes." }] };
    const more: Message = { role: "user", content: [{ type: "text", text: "More." }] };
    await ask(model, [said, more, said, more], { head: { cacheLifetime: "1h" } });
    const mark = { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } };
    const marks = asked[0]?.prompt.map(({ role, providerOptions }) => [role, providerOptions]);
    expect(marks).toEqual([
      ["system", mark],
      ["user", undefined],
      ["assistant", undefined],
      ["user", mark],
      ["assistant", undefined],
      ["user", mark],
    ]);
  });
});
