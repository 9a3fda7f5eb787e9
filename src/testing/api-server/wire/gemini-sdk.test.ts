import { ApiError, type Content, type FunctionCall, GoogleGenAI, type Part, ThinkingLevel } from "@google/genai";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApiServer } from "../create-api-server.ts";
import { messagesOf, systemOf, toolNamesOf } from "../script/messages-of.ts";
import type { ApiServerOptions } from "../types.ts";
import { SKIPPED_SIGNATURE } from "../validate/gemini-signature.ts";

async function serve(options: ApiServerOptions) {
  const server = await createApiServer(options);
  onTestFinished(() => server.close());
  const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: server.url } });
  return { server, client };
}

const functionDeclarations = ["Read", "LS"].map((name) => ({
  name,
  description: name,
  parametersJsonSchema: { type: "object", properties: { path: { type: "string" } } },
}));
const model = "gemini-4-argon";
const prompt: Content = { role: "user", parts: [{ text: "Look around." }] };
const request = {
  model,
  contents: [prompt],
  config: {
    systemInstruction: "Be brief.",
    tools: [{ functionDeclarations }],
    thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.HIGH },
    maxOutputTokens: 1_000,
  },
};
const reply = {
  content: [
    { thinking: ["Let me", " look."] },
    { text: ["I'll", " look."] },
    { tool: "Read", inputJson: ['{"path":', '"a"}'] },
    { tool: "LS", input: {} },
  ],
};

/** Answers the calls of a response. */
function resultsOf(calls: readonly FunctionCall[] = []): Content {
  const answer = ({ id, name }: FunctionCall): Part => ({
    functionResponse: { id: String(id), name: String(name), response: { output: "nothing" } },
  });
  return { role: "user", parts: calls.map(answer) };
}

describe("Google's own client", () => {
  it("reads a streamed response chunk by chunk, with the same end result as a whole response", async () => {
    const { server, client } = await serve({ script: [reply, reply] });
    const parts: Part[] = [];
    let last: Awaited<ReturnType<typeof client.models.generateContent>> | undefined;
    for await (const chunk of await client.models.generateContentStream(request)) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      last = chunk;
    }
    const signature = expect.stringMatching(/^[\w+/=]{20,}$/);
    expect(parts).toEqual([
      { text: "Let me", thought: true },
      { text: " look.", thought: true },
      { text: "I'll" },
      { text: " look." },
      {
        functionCall: { id: expect.any(String), name: "Read", args: { path: "a" } },
        thoughtSignature: signature,
      },
      { functionCall: { id: expect.any(String), name: "LS", args: {} } },
    ]);
    expect(last?.candidates?.[0]?.finishReason).toBe("STOP");
    const whole = await client.models.generateContent(request);
    expect(whole.functionCalls?.map(({ name }) => name)).toEqual(["Read", "LS"]);
    expect(whole.text).toBe("I'll look.");
    expect(whole.candidates?.[0]?.content?.parts?.[0]).toEqual({ text: "Let me look.", thought: true });
    expect(whole.usageMetadata).toEqual(last?.usageMetadata);
    const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = whole.usageMetadata ?? {};
    expect(thoughtsTokenCount).toBe(3);
    expect(whole.usageMetadata?.totalTokenCount).toBe(promptTokenCount + candidatesTokenCount + thoughtsTokenCount);
    const [first] = server.requests;
    expect([first?.model, first?.streaming, systemOf(first!)]).toEqual([model, true, "Be brief."]);
    expect(toolNamesOf(first!)).toEqual(["Read", "LS"]);
    server.assertDone();
  });

  it("can continue a conversation with everything that it received", async () => {
    const { server, client } = await serve({ script: [reply, { content: [{ thinking: "So." }, "Done."] }, reply] });
    const first = await client.models.generateContent(request);
    const contents = [prompt, first.candidates?.[0]?.content as Content, resultsOf(first.functionCalls)];
    const second = await client.models.generateContent({ ...request, contents });
    expect(second.text).toBe("Done.");
    contents.push(second.candidates?.[0]?.content as Content, prompt);
    await client.models.generateContent({ ...request, contents });
    expect(messagesOf(server.requests[2]!).map(({ role, thinking }) => [role, thinking])).toEqual([
      ["user", ""],
      ["assistant", "Let me look."],
      ["user", ""],
      ["assistant", "So."],
      ["user", ""],
    ]);
    server.assertDone();
  });

  it.each<[string, (part: Part) => Part, number]>([
    ["as it is", (part) => part, 200],
    ["missing", ({ thoughtSignature: _, ...part }) => part, 400],
    ["replaced by the documented value", (part) => ({ ...part, thoughtSignature: SKIPPED_SIGNATURE }), 200],
    ["changed", (part) => ({ ...part, thoughtSignature: "AAAA" }), 400],
    ["at another call", (part) => ({ ...part, functionCall: { ...part.functionCall, args: { path: "b" } } }), 400],
  ])("needs the signature of a call: %s", async (_, change, status) => {
    const { client } = await serve({ script: [reply, { content: "Done." }] });
    const first = await client.models.generateContent(request);
    const parts = first.candidates?.[0]?.content?.parts?.map((part) => (part.thoughtSignature ? change(part) : part));
    const contents = [prompt, { role: "model", parts: parts ?? [] }, resultsOf(first.functionCalls)];
    const second = await client.models.generateContent({ ...request, contents }).catch((error: ApiError) => error);
    expect(second instanceof ApiError ? second.status : 200).toBe(status);
  });

  it("understands refusals, responses that are cut off, and errors", async () => {
    const { client } = await serve({
      script: [
        { content: "I can't", stopReason: "refusal" },
        { content: [], stopReason: "refusal" },
        { content: "And then", stopReason: "max_tokens" },
        { content: [{ tool: "LS", inputJson: '{"a":' }] },
        { content: "Copied", finishReason: "RECITATION" },
        { content: "", fault: { kind: "status", status: 429, retryAfter: { milliseconds: 8_268 } } },
        // The client recognizes the error only if it arrives on its own.
        {
          content: "Half of it",
          fault: { kind: "error-event", errorType: "overloaded_error" },
          pacing: { chunkMs: 50 },
        },
      ],
    });
    const ask = () => client.models.generateContent({ model, contents: "Hello" });
    expect((await ask()).candidates?.[0]?.finishReason).toBe("SAFETY");
    const blocked = await ask();
    expect([blocked.promptFeedback?.blockReason, blocked.candidates]).toEqual(["PROHIBITED_CONTENT", undefined]);
    const reasons = [await ask(), await ask(), await ask()].map((each) => each.candidates?.[0]?.finishReason);
    expect(reasons).toEqual(["MAX_TOKENS", "MALFORMED_FUNCTION_CALL", "RECITATION"]);
    const limited: ApiError = await ask().catch((error) => error);
    expect(limited.status).toBe(429);
    const { error } = JSON.parse(limited.message);
    expect(error).toMatchObject({ status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "8.268000000s" }] });
    const texts: (string | undefined)[] = [];
    const stream = await client.models.generateContentStream({ model, contents: "Hello" });
    const broken = async () => {
      for await (const chunk of stream) texts.push(chunk.text);
    };
    await expect(broken()).rejects.toMatchObject({ status: 503 });
    expect(texts).toEqual(["Half of it"]);
  });

  it("lists models, and is told about a wrong key and an unknown model", async () => {
    const { server, client } = await serve({ script: [], models: [model], apiKey: "key" });
    const listed: (string | undefined)[] = [];
    for await (const { name } of await client.models.list()) listed.push(name);
    expect(listed).toEqual([`models/${model}`]);
    const ask = (with_: GoogleGenAI, name: string) =>
      with_.models.generateContent({ model: name, contents: "Hello" }).catch((error: ApiError) => error);
    expect(await ask(client, "gemini-9")).toMatchObject({ status: 404 });
    const stranger = new GoogleGenAI({ apiKey: "other", httpOptions: { baseUrl: server.url } });
    expect(await ask(stranger, model)).toMatchObject({ status: 400, message: expect.stringContaining("not valid") });
  });
});
