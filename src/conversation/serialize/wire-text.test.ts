import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dialects, type Head } from "../../protocol/index.ts";
import { Chain } from "../chain.ts";
import { wireCallId, withoutLoneSurrogates } from "./wire-text.ts";

it.each([
  ["main_1_0", "m1_0"],
  ["a53n9av9sdrb4_12_3", "a12_3"],
  ["main_1_0_acceptance", "main_1_0_acceptance"],
  ["search_0", "search_0"],
  ["c1", "c1"],
])("%s is sent as %s", (callId, sent) => {
  expect(wireCallId(callId)).toBe(sent);
});

it("keeps calls of different requests apart, whichever agent made them", () => {
  const agent = fc.constantFrom("main", "a53n9av9sdrb4", "aqgct08w7gxt3");
  const call = fc.record({ agent, request: fc.nat(), index: fc.nat(99) });
  fc.assert(
    fc.property(call, call, (one, other) => {
      fc.pre(one.request !== other.request || one.index !== other.index);
      const sent = ({ agent: who, request, index }: typeof one) => wireCallId(`${who}_${request}_${index}`);
      expect(sent(one)).not.toBe(sent(other));
    }),
  );
});

describe("withoutLoneSurrogates", () => {
  it.each([
    ["a lone high surrogate", String.raw`"a\ud83d b"`, String.raw`"a\ufffd b"`],
    ["a lone low surrogate", String.raw`"\uDC4B"`, String.raw`"\ufffd"`],
    ["surrogates in the wrong order", String.raw`"\udc4b\ud83d"`, String.raw`"\ufffd\ufffd"`],
    ["an escaped pair", String.raw`"\ud83d\uDC4B"`, String.raw`"\ud83d\uDC4B"`],
    ["a backslash before letters", String.raw`"\\ud83d"`, String.raw`"\\ud83d"`],
    ["a backslash before a surrogate", String.raw`"\\\ud83d"`, String.raw`"\\\ufffd"`],
  ])("%s", (_, json, expected) => {
    expect(withoutLoneSurrogates(json)).toBe(expected);
  });

  it("returns JSON of the same length that has no lone surrogates and is otherwise unchanged", () => {
    const unit = fc.constantFrom("\ud83d", "\udc4b", "\\", "u", "d83d", '"', "é", "\n");
    fc.assert(
      fc.property(fc.array(unit), (units) => {
        const text = units.join("");
        const json = JSON.stringify(text);
        const made = withoutLoneSurrogates(json);
        expect(made.length).toBe(json.length);
        expect(JSON.parse(made)).toBe(text.replace(/\p{Surrogate}/gu, "\ufffd"));
      }),
    );
  });
});

it.each(dialects)("no request contains a lone surrogate in text, arguments or results (%s)", (dialect) => {
  const head: Head = {
    provider: "p",
    model: "m",
    dialect,
    tools: [],
    system: "",
    systemContext: "",
    userContext: "",
  };
  const chain = new Chain(head);
  chain.append({ role: "user", content: [{ type: "text", text: "a \ud83d" }] });
  chain.append({
    role: "assistant",
    content: [{ type: "tool_call", callId: "c", name: "N", inputJson: String.raw`{"x":"\ud83d","y":"\ud83d\udc4b"}` }],
  });
  const result = { type: "tool_result" as const, callId: "c", isError: false };
  chain.append({ role: "user", content: [{ ...result, content: [{ type: "text", text: "\udc4b b" }] }] });
  const body: unknown = JSON.parse(Buffer.concat(chain.request().body(dialect, 1_000)).toString());
  JSON.stringify(body, (_, value: unknown) => {
    if (typeof value === "string") expect(value).not.toMatch(/\p{Surrogate}/u);
    return value;
  });
  expect(JSON.stringify(body)).toContain("�");
});
