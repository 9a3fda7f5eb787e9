import { describe, expect, it } from "vitest";
import type { BodyOptions } from "../../ports/index.ts";
import type { AssistantBlock, Head, UserBlock } from "../../protocol/index.ts";
import { Chain } from "../chain.ts";

const head: Head = {
  provider: "openai",
  model: "gpt-6.2-sol",
  dialect: "responses",
  tools: [{ name: "Read", description: "Reads", inputSchema: { type: "object" } }],
  system: "Be brief.",
  systemContext: "linux",
  userContext: "",
};
const ask: UserBlock = { type: "text", text: "Look." };

function bodyOf(chain: Chain, options?: BodyOptions) {
  const bytes = chain.request().body("responses", 1_000, options);
  return JSON.parse(Buffer.concat([...bytes]).toString());
}

function chainOf(own: Partial<Head>, ...answers: readonly (readonly AssistantBlock[])[]): Chain {
  const chain = new Chain({ ...head, ...own });
  chain.append({ role: "user", content: [ask] });
  for (const content of answers) {
    chain.append({ role: "assistant", content });
    chain.append({ role: "user", content: [ask] });
  }
  return chain;
}

describe("a request to the Responses API", () => {
  it("stores nothing, and asks for reasoning only if the model reasons", () => {
    const tools = [
      { type: "function", name: "Read", description: "Reads", parameters: { type: "object" }, strict: false },
    ];
    expect(bodyOf(chainOf({ effort: "high" }))).toEqual({
      model: "gpt-6.2-sol",
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "high", summary: "auto" },
      parallel_tool_calls: true,
      tools,
      instructions: "Be brief.\n\nlinux",
      prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/),
      input: [{ role: "user", content: [{ type: "input_text", text: "Look." }] }],
      max_output_tokens: 1_000,
    });
    const optionsOf = (model: string) => {
      const { include, reasoning } = bodyOf(chainOf({ model }));
      return { include, reasoning };
    };
    const asked = { include: ["reasoning.encrypted_content"], reasoning: { summary: "auto" } };
    for (const model of ["gpt-5.1", "o4-mini", "openai/gpt-6-luna"]) expect(optionsOf(model)).toEqual(asked);
    for (const model of ["gpt-4.1", "gpt-5-chat-latest", "my-model"]) expect(optionsOf(model)).toEqual({});
  });

  it("has the cache key of every request with the same tools and instructions", () => {
    const keyOf = (own: Partial<Head>, options?: BodyOptions) => bodyOf(chainOf(own), options).prompt_cache_key;
    const key = keyOf({});
    expect([keyOf({ effort: "low" }), keyOf({}, { answerSchema: { type: "object" } })]).toEqual([key, key]);
    const others = [keyOf({ system: "Be long." }), keyOf({ tools: [] })];
    for (const other of others) expect(other).not.toBe(key);
  });

  it("contains reasoning of the same model and dialect only, and none that follows a call", () => {
    const origin = { provider: "openai", model: "gpt-6.2-sol" };
    const item = (id: string) => ({ id, type: "reasoning", summary: [], encrypted_content: "gA==" });
    const opaque = (id: string, own = origin): AssistantBlock => ({
      type: "opaque",
      json: JSON.stringify(item(id)),
      origin: own,
    });
    const redacted: AssistantBlock = { type: "opaque", json: '{"type":"redacted_thinking","data":"x"}', origin };
    const signed: AssistantBlock = { type: "thinking", text: "Hm.", signature: "sig", origin };
    const call: AssistantBlock = { type: "tool_call", callId: "c_1", name: "Read", inputJson: "{}" };
    const answer: readonly AssistantBlock[] = [
      signed,
      redacted,
      opaque("rs_0", { provider: "openai", model: "gpt-6-sol" }),
      opaque("rs_1"),
      { type: "text", text: "I'll look.", phase: "commentary" },
      opaque("rs_2"),
      call,
      opaque("rs_3"),
      { type: "text", text: "Well." },
    ];
    const chain = chainOf({}, answer, [signed]);
    expect(bodyOf(chain).input).toEqual([
      { role: "user", content: [{ type: "input_text", text: "Look." }] },
      item("rs_1"),
      { role: "assistant", content: "I'll look.", phase: "commentary" },
      item("rs_2"),
      { type: "function_call", call_id: "c_1", name: "Read", arguments: "{}" },
      { role: "assistant", content: "Well." },
      { role: "user", content: [{ type: "input_text", text: "Look." }] },
      { role: "assistant", content: "(no text)" },
      { role: "user", content: [{ type: "input_text", text: "Look." }] },
    ]);
    for (const dialect of ["anthropic", "openai"] as const) {
      const body = Buffer.concat([
        ...chain
          .withHead({ ...head, dialect })
          .request()
          .body(dialect, 1_000),
      ]).toString();
      expect(body).not.toContain("encrypted_content");
      expect(body.includes("redacted_thinking")).toBe(dialect === "anthropic");
    }
  });
});
