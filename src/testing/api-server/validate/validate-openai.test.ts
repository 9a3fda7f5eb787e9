import { describe, expect, it } from "vitest";
import { validateOpenai } from "./validate-openai.ts";

type Body = Record<string, unknown>;
const call = (id: string, args: unknown = "{}") => ({
  id,
  type: "function",
  function: { name: "LS", arguments: args },
});
const asks = (...calls: unknown[]) => ({ role: "assistant", content: null, tool_calls: calls });
const answers = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" });
const user = { role: "user", content: "Hi" };
const tools = [{ type: "function", function: { name: "a", parameters: { type: "object" } } }];
const talk = (...messages: unknown[]) => ({ messages: [user, ...messages] });
const text = { type: "string" };
const format = (properties: Body, required: readonly string[], strict = true) => {
  const schema = { type: "object", properties, required, additionalProperties: false };
  return { type: "json_schema", json_schema: { name: "answer", strict, schema } };
};
const check = (body: Body) => validateOpenai({ model: "m", messages: [user], ...body });

describe("requests that the OpenAI API accepts", () => {
  it.each<[string, Body]>([
    [
      "system, developer and parts",
      {
        messages: [
          { role: "system", content: "s" },
          { role: "user", content: [{ type: "text", text: "a" }] },
        ],
      },
    ],
    ["calls and their answers", talk(asks(call("a"), call("b")), answers("b"), answers("a"), user)],
    ["the same id in a later turn", talk(asks(call("a")), answers("a"), asks(call("a")), answers("a"))],
    ["an assistant last", talk({ role: "assistant", content: "a" })],
    [
      "tools and stream options",
      {
        stream: true,
        stream_options: { include_usage: true },
        tools: [{ type: "function", function: { name: "a", parameters: { type: "object" } } }],
      },
    ],
    ["tools for a newer model that is told not to reason", { model: "gpt-6-sol", tools, reasoning_effort: "none" }],
    ["tools for a model that does not reason by default", { model: "gpt-5.4", tools }],
    ["tools and effort for an older model", { model: "gpt-5.1", tools, reasoning_effort: "high" }],
    ["a strict schema for the answer", { response_format: format({ a: text }, ["a"]) }],
    ["a schema that is not strict", { response_format: format({ a: { ...text, minLength: 1 } }, [], false) }],
    ["a newer model without tools", { model: "gpt-6-astra", reasoning_effort: "high" }],
  ])("%s", (_, body) => {
    expect(check(body)).toBeUndefined();
  });
});

describe("requests that the OpenAI API rejects", () => {
  it.each<[string, Body, string]>([
    ["no model", { model: undefined }, "model"],
    ["an unknown field", { system: "s" }, "Unrecognized request argument supplied: system"],
    ["no messages", { messages: [] }, "at least one"],
    ["tools for a model that reasons by default", { model: "gpt-6-luna", tools }, "for gpt-6-luna in /v1/chat/"],
    ["tools and effort", { model: "gpt-5.4", tools, reasoning_effort: "low" }, "Function tools with reasoning_effort"],
    ["tools where reasoning is always on", { model: "gpt-6.1-sol", tools, reasoning_effort: "none" }, "gpt-6.1-sol"],
    [
      "a strict schema with an optional property",
      { response_format: format({ a: text }, []) },
      "must include every key",
    ],
    [
      "a strict schema with a keyword that can't be enforced",
      { response_format: format({ a: { ...text, not: {} } }, ["a"]) },
      "properties.a: 'not' is not supported",
    ],
    ["an unknown role", { messages: [{ role: "model", content: "a" }] }, "messages[0].role"],
    [
      "a mark from the other wire format",
      { messages: [{ role: "user", content: [{ type: "text", text: "a", cache_control: {} }] }] },
      "cache_control: Extra inputs",
    ],
    ["null content without calls", talk({ role: "assistant", content: null }), "messages[1].content"],
    ["arguments that are an object", talk(asks(call("a", {})), answers("a")), "arguments: Input should be a string"],
    ["an unanswered call", talk(asks(call("a"), call("b")), answers("a"), user), "no answer for b"],
    ["an unanswered call at the end", talk(asks(call("a"))), "no answer for a"],
    ["an answer without a call", talk(answers("a")), "'a' is not open"],
    ["a call answered twice", talk(asks(call("a")), answers("a"), answers("a")), "'a' is not open"],
    ["one id twice in one message", talk(asks(call("a"), call("a")), answers("a")), "duplicate 'a'"],
    ["an empty list of calls", talk({ role: "assistant", content: "a", tool_calls: [] }), "too short"],
    ["an empty list of tools", { tools: [] }, "too short"],
    [
      "a tool with an invalid name",
      { tools: [{ type: "function", function: { name: "a.b" } }] },
      "tools[0].function.name",
    ],
    ["a tool in the other wire format", { tools: [{ name: "a", input_schema: {} }] }, "tools[0].type"],
    ["stream options without a stream", { stream_options: {} }, "'stream_options' is only allowed"],
  ])("%s", (_, body, problem) => {
    expect(check(body)).toContain(problem);
  });
});
