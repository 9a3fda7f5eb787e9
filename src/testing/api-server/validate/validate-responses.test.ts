import { describe, expect, it, onTestFinished } from "vitest";
import { callResponses } from "../client.test-support.ts";
import { createApiServer } from "../create-api-server.ts";
import { createThinkingLedger } from "./thinking.ts";
import { validateResponses } from "./validate-responses.ts";

type Body = Record<string, unknown>;
const user = { role: "user", content: "Hi" };
const call = (id: string) => ({ type: "function_call", call_id: id, name: "LS", arguments: "{}" });
const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "ok" });
const says = { type: "message", role: "assistant", content: [{ type: "output_text", text: "a" }] };
const tool = { type: "function", name: "a", parameters: { type: "object" } };
const include = ["reasoning.encrypted_content"];
const talk = (...items: unknown[]) => ({ input: [user, ...items] });
const check = (body: Body) =>
  validateResponses({ model: "m", store: false, input: [user], ...body }, createThinkingLedger(1));

describe("requests that the Responses API accepts", () => {
  it.each<[string, Body]>([
    ["text as input", { input: "Hi" }],
    ["calls and their outputs", talk(says, call("a"), call("b"), output("b"), output("a"), user)],
    [
      "an image in an output",
      talk(call("a"), { ...output("a"), output: [{ type: "input_image", image_url: "data:" }] }),
    ],
    ["a message with its phase", talk({ ...says, phase: "commentary" })],
    ["tools that are not strict", { tools: [{ ...tool, strict: false }] }],
    ["tools and effort", { model: "gpt-6.2-sol", tools: [{ ...tool, strict: false }], reasoning: { effort: "max" } }],
    ["no reasoning where it can be switched off", { model: "gpt-6-sol", reasoning: { effort: "none" } }],
    ["the reasoning of a model that reasons", { model: "gpt-6-sol", include, reasoning: { summary: "auto" } }],
  ])("%s", (_, body) => {
    expect(check(body)).toBeUndefined();
  });
});

describe("requests that the Responses API rejects", () => {
  it.each<[string, Body, string]>([
    ["no model", { model: undefined }, "'model'"],
    ["a field of the other API", { messages: [] }, "Unknown parameter: 'messages'"],
    ["stored responses", { store: true }, "stores nothing"],
    ["an earlier response", { previous_response_id: "resp_1" }, "previous_response_id"],
    ["too short an answer", { max_output_tokens: 15 }, "Expected a value >= 16"],
    ["an unknown effort", { reasoning: { effort: "huge" } }, "huge"],
    ["no reasoning for a model that always reasons", { model: "gpt-6.2-astra", reasoning: { effort: "none" } }, "none"],
    ["the reasoning of a model without any", { model: "gpt-4.1", include }, "not supported with this model"],
    ["the reasoning of a chat model", { model: "gpt-5-chat-latest", include }, "not supported with this model"],
    ["an effort for a model that does not reason", { model: "gpt-4.1", reasoning: { effort: "low" } }, "Unsupported"],
    ["a nested tool", { tools: [{ type: "function", function: { name: "a" } }] }, "function"],
    ["a tool that would be made strict", { tools: [tool] }, "additionalProperties"],
    ["input of the wrong kind", { input: [{ role: "user", content: [{ type: "text", text: "a" }] }] }, "input_text"],
    ["a call without an output", talk(call("a"), user), "No tool output found for function call a"],
    ["a call without an output at the end", talk(call("a")), "No tool output found for function call a"],
    ["an output without a call", talk(output("a")), "No tool call found"],
    ["the same call twice", talk(call("a"), output("a"), call("a"), output("a")), "Duplicate"],
    [
      "reasoning without its content",
      { ...talk({ type: "reasoning", id: "rs_1", summary: [] }, says), model: "gpt-6-sol" },
      "not persisted",
    ],
    [
      "reasoning that the server never sent",
      { ...talk({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x.y" }, says), model: "gpt-6-sol" },
      "could not be decrypted",
    ],
  ])("%s", (_, body, problem) => {
    expect(check(body)).toContain(problem);
  });
});

describe("reasoning that is sent back", () => {
  const reply = { content: [{ thinking: "Hm." }, "Let me see.", { thinking: "Then." }, { tool: "LS", id: "c1" }] };
  const base = { model: "gpt-6.2-sol", instructions: "Be brief.", include, input: [user] };

  async function replay(change: (items: Body[]) => Body[], more: Body = {}) {
    const server = await createApiServer({ script: [reply, { content: "Done." }] });
    onTestFinished(() => server.close());
    const first = await callResponses(server.url, base);
    const { output: items } = JSON.parse(first.bytes.toString());
    const second = await callResponses(server.url, {
      ...base,
      ...more,
      input: change([user, ...items, output("c1")]),
    });
    return { status: second.status, text: second.bytes.toString() };
  }

  it.each<[string, (items: Body[]) => Body[], Body]>([
    ["unchanged", (items) => items, {}],
    [
      "with other ids of messages and calls",
      (items) => items.map(({ id, ...item }) => ({ ...item, ...(item["type"] === "reasoning" ? { id } : {}) })),
      {},
    ],
    ["the first part left out", (items) => items.toSpliced(1, 1), {}],
    ["all of it left out", (items) => items.filter(({ type }) => type !== "reasoning"), { instructions: "Be long." }],
    ["with another effort", (items) => items, { reasoning: { effort: "low" } }],
  ])("is accepted %s", async (_, change, more) => {
    expect(await replay(change, more)).toMatchObject({ status: 200 });
  });

  it.each<[string, (items: Body[]) => Body[], Body]>([
    ["after other instructions", (items) => items, { instructions: "Be long." }],
    ["after another message", ([, ...items]) => [{ role: "user", content: "Ho" }, ...items], {}],
    ["with another tool", (items) => items, { tools: [{ ...tool, strict: false }] }],
    ["for another model", (items) => items, { model: "gpt-6-sol" }],
    ["in another order", ([first, hm, says, then, ...rest]) => [first, then, says, hm, ...rest] as Body[], {}],
    [
      "without what it was written for",
      (items) => items.filter(({ type }) => !String(type).startsWith("function")),
      {},
    ],
    [
      "with another summary",
      (items) => items.map((item) => (item["type"] === "reasoning" ? { ...item, summary: [] } : item)),
      {},
    ],
  ])("is refused %s", async (_, change, more) => {
    const { status, text } = await replay(change, more);
    expect(status, text).toBe(400);
    expect(text).toMatch(/could not be verified|without its required following item/);
  });
});
