import { describe, expect, it } from "vitest";
import type { BodyOptions } from "../../ports/index.ts";
import type { AssistantBlock, Head, UserBlock } from "../../protocol/index.ts";
import { Chain } from "../chain.ts";
import { cacheDifference } from "../compare-requests.ts";

const head: Head = {
  provider: "gemini",
  model: "gemini-4-argon",
  dialect: "gemini",
  tools: [{ name: "Read", description: "Reads", inputSchema: { type: "object" } }],
  system: "Be brief.",
  systemContext: "linux",
  userContext: " ",
};
const origin = { provider: "gemini", model: "gemini-4-argon" };
const ask: UserBlock = { type: "text", text: "Look." };
const call = (callId: string): AssistantBlock => ({ type: "tool_call", callId, name: "Read", inputJson: '{"a":1.0}' });
const opaque = (part: object, own = origin): AssistantBlock => ({
  type: "opaque",
  json: JSON.stringify(part),
  origin: own,
});
const sentCall = (id: string) => ({ functionCall: { id, name: "Read", args: { a: 1 } } });
const skipped = { thoughtSignature: "skip_thought_signature_validator" };

function bodyOf(chain: Chain, options?: BodyOptions) {
  const bytes = chain.request().body("gemini", 1_000, options);
  return JSON.parse(Buffer.concat([...bytes]).toString());
}

function chainOf(own: Partial<Head>, ...messages: readonly (readonly (AssistantBlock | UserBlock)[])[]): Chain {
  const chain = new Chain({ ...head, ...own });
  for (const [index, content] of [[ask], ...messages].entries()) {
    if (index % 2 === 0) chain.append({ role: "user", content: content as UserBlock[] });
    else chain.append({ role: "assistant", content: content as AssistantBlock[] });
  }
  return chain;
}

describe("a request to the Gemini API", () => {
  it("contains tools, system text, messages and parameters, but not the model", () => {
    expect(bodyOf(chainOf({ effort: "medium" }))).toEqual({
      tools: [
        { functionDeclarations: [{ name: "Read", description: "Reads", parametersJsonSchema: { type: "object" } }] },
      ],
      systemInstruction: { parts: [{ text: "Be brief." }, { text: "linux" }] },
      contents: [{ role: "user", parts: [{ text: "Look." }] }],
      generationConfig: {
        thinkingConfig: { includeThoughts: true, thinkingLevel: "MEDIUM" },
        maxOutputTokens: 1_000,
      },
    });
    const bare = bodyOf(chainOf({ tools: [], system: "", systemContext: "", model: "gemma-4" }));
    expect(Object.keys(bare)).toEqual(["contents", "generationConfig"]);
    expect(bare.generationConfig).toEqual({ maxOutputTokens: 1_000 });
  });

  it("has the nearest level that the API knows, and none for models that have budgets", () => {
    const levelOf = (own: Partial<Head>) => bodyOf(chainOf(own)).generationConfig.thinkingConfig;
    for (const effort of ["high", "xhigh", "max"] as const)
      expect(levelOf({ effort })).toEqual({ includeThoughts: true, thinkingLevel: "HIGH" });
    expect([levelOf({}), levelOf({ model: "gemini-2.5-pro", effort: "low" })]).toEqual([
      { includeThoughts: true },
      { includeThoughts: true },
    ]);
  });

  it("returns signatures of the same model, each at its part, and a stated value for first calls without one", () => {
    const results = (...ids: string[]): UserBlock[] =>
      ids.map((callId) => ({ type: "tool_result", callId, content: [], isError: false }));
    const other = { provider: "gemini", model: "gemini-3.8-flash" };
    const chain = chainOf(
      {},
      [
        { type: "thinking", text: "Hm.", origin },
        { type: "text", text: "I'll look." },
        opaque({ thoughtSignature: "aa==", text: "" }),
        opaque({ thoughtSignature: "bb==" }),
        call("c_1"),
        call("c_2"),
      ],
      results("c_1", "c_2"),
      [opaque({ thoughtSignature: "cc==" }, other), call("c_3")],
      results("c_3"),
      [opaque({ thoughtSignature: "dd==", text: "" }, other), { type: "text", text: "" }],
      [ask],
    );
    const roles = bodyOf(chain).contents.filter(({ role }: { role: string }) => role === "model");
    expect(roles.map(({ parts }: { parts: unknown }) => parts)).toEqual([
      [
        { text: "I'll look." },
        { thoughtSignature: "aa==", text: "" },
        { ...sentCall("c_1"), thoughtSignature: "bb==" },
        sentCall("c_2"),
      ],
      [{ ...sentCall("c_3"), ...skipped }],
      [{ text: "(no text)" }],
    ]);
    const bare = bodyOf(chain.withoutThinking()).contents[1].parts;
    expect(bare).toEqual([{ text: "I'll look." }, { ...sentCall("c_1"), ...skipped }, sentCall("c_2")]);
    const older = bodyOf(chain.withHead({ ...head, model: "gemini-2.5-pro" })).contents[1].parts;
    expect(older).toEqual([{ text: "I'll look." }, sentCall("c_1"), sentCall("c_2")]);
    for (const dialect of ["anthropic", "openai", "responses"] as const) {
      const next = chain.withHead({ ...head, dialect });
      expect(Buffer.concat([...next.request().body(dialect, 1_000)]).toString()).not.toContain("thoughtSignature");
    }
  });

  it("names the function of each result, also after a fork, and contains images as far as the API reads them", () => {
    const picture = (mediaType: "image/png" | "image/gif") => ({ type: "image" as const, mediaType, data: "AA==" });
    const png = { inlineData: { mimeType: "image/png", data: "AA==" } };
    const gif = { text: "(an image of type image/gif, which this model can't read)" };
    const fork = chainOf({}, [call("main_1_0"), { ...call("main_1_1"), name: "LS" } as AssistantBlock]).fork();
    const failed: UserBlock = {
      type: "tool_result",
      callId: "main_1_0",
      content: [{ type: "text", text: "no" }],
      isError: true,
    };
    const content = [{ type: "text" as const, text: "two" }, picture("image/png"), picture("image/gif")];
    fork.append({
      role: "user",
      content: [
        failed,
        { type: "tool_result", callId: "main_1_1", content, isError: false },
        picture("image/gif"),
        ask,
      ],
    });
    expect(bodyOf(fork).contents[2].parts).toEqual([
      { functionResponse: { id: "m1_0", name: "Read", response: { error: "no" } } },
      { functionResponse: { id: "m1_1", name: "LS", response: { output: "two" }, parts: [png] } },
      gif,
      gif,
      { text: "Look." },
    ]);
  });

  it("can contain a schema for the answer, in the keywords that the API knows", () => {
    const schema = {
      type: "object",
      properties: {
        const: { const: "a", description: "d" },
        flag: { const: true },
        list: { type: "array", items: { enum: [1, 2] } },
        either: { anyOf: [{ const: 1 }, { enum: [null, "x"] }] },
      },
      additionalProperties: false,
    };
    expect(bodyOf(chainOf({}), { answerSchema: schema }).generationConfig).toEqual({
      thinkingConfig: { includeThoughts: true },
      responseMimeType: "application/json",
      responseJsonSchema: {
        ...schema,
        properties: {
          const: { enum: ["a"], description: "d" },
          flag: {},
          list: { type: "array", items: { enum: [1, 2] } },
          either: { anyOf: [{ enum: [1] }, {}] },
        },
      },
      maxOutputTokens: 1_000,
    });
  });

  it("can't be read from the cache of another model, although its body is the same", () => {
    const [one, same, other] = [head.model, head.model, "gemini-3.8-flash"].map((model) =>
      chainOf({ model }).request(),
    );
    expect(cacheDifference(one!, same!)).toBeUndefined();
    expect(cacheDifference(one!, other!)).toEqual({ dimension: "tools_model_thinking", firstDifference: 0 });
  });
});
