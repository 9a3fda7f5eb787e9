import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkSchema, type Schema } from "./check-schema.ts";
import { coerceInput } from "./coerce-input.ts";

const schema: Schema = {
  type: "object",
  properties: {
    limit: { type: "integer" },
    ratio: { type: "number" },
    all: { type: "boolean" },
    text: { type: "string" },
    either: { type: ["string", "integer"] },
    list: { type: "array", items: { type: "integer" } },
    form: { anyOf: [{ type: "integer" }, { type: "array", items: { type: "boolean" } }] },
  },
};

describe("coerceInput", () => {
  it.each([
    [{ limit: "5" }, { limit: 5 }],
    [{ limit: "-0" }, { limit: -0 }],
    [{ ratio: "1.5" }, { ratio: 1.5 }],
    [{ all: "false" }, { all: false }],
    [{ list: ["1", 2] }, { list: [1, 2] }],
    [{ form: "7" }, { form: 7 }],
    [{ form: ["true"] }, { form: [true] }],
  ])("reads %j as %j", (value, expected) => {
    expect(coerceInput(schema, value)).toEqual(expected);
  });

  it.each([
    [{ limit: "5.5" }],
    [{ limit: "0x10" }],
    [{ limit: " 5" }],
    [{ limit: "" }],
    [{ limit: "12345678901234567890" }],
    [{ limit: "1e3" }],
    [{ all: "yes" }],
    [{ all: 1 }],
    [{ text: 5 }],
    [{ text: "5" }],
    [{ either: "5" }],
    [{ form: "x" }],
    [{ unknown: "5" }],
    ["5"],
    [null],
  ])("leaves %j alone", (value) => {
    expect(coerceInput(schema, value)).toBe(value);
  });

  it("does not change what it was given, and what already fits stays the same value", () => {
    const given = Object.freeze({ limit: "5", list: Object.freeze(["1"]) });
    expect(coerceInput(schema, given)).toEqual({ limit: 5, list: [1] });
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        if (checkSchema(schema, value).length === 0) expect(coerceInput(schema, value)).toBe(value);
      }),
    );
  });

  it("keeps a member named __proto__ a member", () => {
    const coerced = coerceInput(schema, JSON.parse('{"__proto__":{"x":1},"limit":"1"}')) as object;
    expect(JSON.stringify(coerced)).toBe('{"__proto__":{"x":1},"limit":1}');
    expect(Object.getPrototypeOf(coerced)).toBe(Object.prototype);
  });
});
