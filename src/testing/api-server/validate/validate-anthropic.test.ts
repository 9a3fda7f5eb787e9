import { describe, expect, it } from "vitest";
import { createThinkingLedger } from "./thinking.ts";
import { validateAnthropic } from "./validate-anthropic.ts";

type Body = Record<string, unknown>;

const text = (value: string) => ({ type: "text", text: value });
const use = (id: string, input: unknown = {}) => ({ type: "tool_use", id, name: "Read", input });
const result = (id: string, content: unknown = "ok") => ({ type: "tool_result", tool_use_id: id, content });
const user = (...content: unknown[]) => ({ role: "user", content });
const assistant = (...content: unknown[]) => ({ role: "assistant", content });
const tool = (name: string) => ({ name, description: "d", input_schema: { type: "object" } });
const object = { type: "object", properties: { a: { type: "array", items: { type: "string" } } } };
const mark = { cache_control: { type: "ephemeral" } };

function check(body: Body, version?: string): string | undefined {
  const whole = { model: "m", max_tokens: 10_000, messages: [user(text("Hi"))], ...body };
  return validateAnthropic(whole, { ledger: createThinkingLedger(1), controls: false, compacts: false, version });
}

const talk = (...messages: unknown[]) => ({ messages: [user(text("Hi")), ...messages] });

describe("requests that the Anthropic API accepts", () => {
  it.each<[string, Body]>([
    ["a string as content", { messages: [{ role: "user", content: "Hi" }] }],
    ["consecutive messages of one role", { messages: [user(text("a")), user(text("b"))] }],
    [
      "calls and results, then text",
      talk(assistant(text("a"), use("t1"), use("t2")), user(result("t2"), result("t1"), text("go on"))),
    ],
    [
      "results in two consecutive user messages",
      talk(assistant(use("t1"), use("t2")), user(result("t1")), user(result("t2"))),
    ],
    ["a result without content", talk(assistant(use("t1")), user({ type: "tool_result", tool_use_id: "t1" }))],
    [
      "tools, choice, system blocks and four marks",
      {
        tools: [{ ...tool("a"), ...mark }, tool("b"), { type: "web_search_20250305", name: "web_search" }],
        tool_choice: { type: "tool", name: "b" },
        system: [text("s"), { ...text("t"), ...mark }],
        messages: [user({ ...text("a"), ...mark }), user({ ...text("b"), ...mark })],
      },
    ],
    [
      "effort and a schema for the answer",
      {
        output_config: {
          effort: "low",
          format: { type: "json_schema", schema: { ...object, additionalProperties: false } },
        },
      },
    ],
    ["thinking with its budget", { thinking: { type: "enabled", budget_tokens: 2000 } }],
    [
      "a long-lived mark before a short one",
      {
        system: [{ ...text("s"), cache_control: { type: "ephemeral", ttl: "1h" } }],
        messages: [user({ ...text("a"), ...mark })],
      },
    ],
  ])("%s", (_, body) => {
    expect(check(body)).toBeUndefined();
  });
});

describe("requests that the Anthropic API rejects", () => {
  it.each<[string, Body, string]>([
    ["no max_tokens", { max_tokens: undefined }, "max_tokens: Field required"],
    ["max_tokens 0", { max_tokens: 0 }, "max_tokens"],
    ["no model", { model: undefined }, "model: Field required"],
    ["an unknown field", { max_token: 1 }, "max_token: Extra inputs are not permitted"],
    ["no messages", { messages: [] }, "at least one message"],
    ["a system message in the list", { messages: [{ role: "system", content: "a" }] }, "messages.0.role"],
    [
      "an extra field of a message",
      { messages: [{ role: "user", content: "a", id: 1 }] },
      "messages.0.id: Extra inputs",
    ],
    ["an assistant first", { messages: [assistant(text("a")), user(text("b"))] }, "first message must use"],
    ["an assistant last", talk(assistant(text("a"))), "prefill"],
    ["empty content", { messages: [user()] }, "messages.0: all messages must have non-empty content"],
    ["an empty string", { messages: [{ role: "user", content: "" }] }, "non-empty content"],
    [
      "an empty text block",
      { messages: [user(text("a"), text(""))] },
      "messages.0.content.1: text content blocks must be non-empty",
    ],
    ["a blank text block", { messages: [user(text(" \n"))] }, "non-whitespace"],
    ["an empty system block", { system: [text("")] }, "system.0: text content blocks must be non-empty"],
    ["an unknown block", { messages: [user({ type: "txt" })] }, "Input tag 'txt'"],
    ["a call by the user", { messages: [user(use("t1"))] }, "cannot be in user messages"],
    ["a result by the assistant", talk(assistant(result("t1")), user(text("a"))), "cannot be in assistant messages"],
    [
      "an unanswered call",
      talk(assistant(use("t1"), use("t2")), user(result("t1"))),
      "without `tool_result` blocks immediately after: t2",
    ],
    ["an unanswered call at the end", talk(assistant(use("t1"))), "immediately after: t1"],
    ["text before the result", talk(assistant(use("t1")), user(text("a"), result("t1"))), "immediately after: t1"],
    [
      "a late result",
      talk(assistant(use("t1")), user(text("a")), assistant(text("b")), user(result("t1"))),
      "immediately after: t1",
    ],
    ["a result without a call", { messages: [user(result("t1"))] }, "unexpected `tool_use_id`"],
    ["a call answered twice", talk(assistant(use("t1")), user(result("t1"), result("t1"))), "single result"],
    ["one id twice", talk(assistant(use("t1"), use("t1")), user(result("t1"))), "ids must be unique"],
    [
      "one id in two turns",
      talk(assistant(use("t1")), user(result("t1")), assistant(use("t1")), user(result("t1"))),
      "ids must be unique",
    ],
    ["an invalid id", talk(assistant(use("t:1")), user(result("t:1"))), "should match pattern"],
    [
      "input that is a string",
      talk(assistant(use("t1", "{}")), user(result("t1"))),
      "input: Input should be an object",
    ],
    [
      "an image in a failed result",
      talk(assistant(use("t1")), user({ ...result("t1", [{ type: "image", source: {} }]), is_error: true })),
      "must be text if is_error",
    ],
    [
      "five marks",
      { messages: [user(...["a", "b", "c", "d", "e"].map((one) => ({ ...text(one), ...mark })))] },
      "maximum of 4 blocks with cache_control may be provided. Found 5",
    ],
    [
      "a mark on thinking",
      talk(assistant({ type: "thinking", thinking: "a", signature: "b", ...mark }, text("c")), user(text("d"))),
      "cache_control: Extra inputs",
    ],
    [
      "a short mark before a long one",
      {
        system: [{ ...text("s"), ...mark }],
        messages: [user({ ...text("a"), cache_control: { type: "ephemeral", ttl: "1h" } })],
      },
      "ttl='1h'",
    ],
    ["an invalid ttl", { system: [{ ...text("s"), cache_control: { type: "ephemeral", ttl: "2h" } }] }, "ttl"],
    [
      "an open schema for the answer",
      { output_config: { format: { type: "json_schema", schema: object } } },
      "output_config.format.schema: 'additionalProperties' must be set to false",
    ],
    ["an unknown format of the answer", { output_config: { format: { type: "json" } } }, "should be 'json_schema'"],
    ["a tool with an invalid name", { tools: [tool("a.b")] }, "tools.0.name: String should match"],
    ["two tools with the same name", { tools: [tool("a"), tool("a")] }, "must be unique"],
    ["a tool without a schema", { tools: [{ name: "a" }] }, "tools.0.input_schema"],
    [
      "a schema that is not an object",
      { tools: [{ name: "a", input_schema: { type: "string" } }] },
      "input_schema.type",
    ],
    ["a choice without tools", { tool_choice: { type: "auto" } }, "tool_choice"],
    ["a choice of an unknown tool", { tools: [tool("a")], tool_choice: { type: "tool", name: "b" } }, "'b' not found"],
    [
      "a thinking budget above max_tokens",
      { thinking: { type: "enabled", budget_tokens: 10_000 } },
      "max_tokens: must be greater",
    ],
    ["thinking with a temperature", { thinking: { type: "adaptive" }, temperature: 0 }, "temperature"],
    [
      "a made-up signature",
      talk(assistant({ type: "thinking", thinking: "a", signature: "b" }, text("c")), user(text("d"))),
      "messages.1.content.0: Invalid `signature`",
    ],
  ])("%s", (_, body, problem) => {
    expect(check(body)).toContain(problem);
  });
});

describe("what models require of thinking, effort and sampling", () => {
  const adaptive = { thinking: { type: "adaptive", display: "summarized" } };
  const budget = { thinking: { type: "enabled", budget_tokens: 2_000 } };
  const effort = (level: string) => ({ output_config: { effort: level } });

  it.each<[string, Body, string | RegExp]>([
    ["claude-opus-5-5", { thinking: { type: "disabled" } }, /always thinks/],
    ["claude-opus-4-7", budget, /"enabled" is not supported/],
    ["claude-sonnet-4-5", adaptive, /adaptive thinking is not supported/],
    ["claude-opus-5-5", { thinking: { type: "adaptive", display: "all" } }, /display: should be one of/],
    ["claude-opus-5-5", { temperature: 0.5 }, /temperature: may only be 1/],
    ["claude-opus-4-7", { ...adaptive, top_k: 3 }, /top_k: must be unset/],
    ["claude-haiku-4-5", effort("low"), /does not support the effort/],
    ["claude-opus-4-6", effort("xhigh"), /effort: should be one of low,medium,high,max/],
  ])("%s refuses %j", (model, body, reason) => {
    expect(check({ model, ...body })).toMatch(reason);
  });

  it.each<[string, Body]>([
    ["claude-opus-5-5", { ...adaptive, temperature: 1 }],
    ["claude-haiku-5-5", { thinking: { type: "disabled" }, temperature: 0.5 }],
    ["claude-opus-4-6", { ...adaptive, ...effort("max") }],
    ["claude-sonnet-4-5", { ...budget }],
    ["claude-sonnet-4-5", { temperature: 0.5 }],
  ])("%s accepts %j", (model, body) => {
    expect(check({ model, ...body })).toBeUndefined();
  });

  it("the newest version of the API refuses sampling parameters for every model", () => {
    const body = { model: "claude-sonnet-4-5", temperature: 1 };
    expect([check(body, "2023-06-01"), check(body, "2026-10-21")]).toEqual([
      undefined,
      "temperature: Extra inputs are not permitted",
    ]);
  });
});
