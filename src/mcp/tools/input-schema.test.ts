import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkSchema, coerceInput } from "../../lib/index.ts";
import { repairSchema } from "./input-schema.ts";

const keyword = fc.constantFrom(
  ...[
    "type",
    "properties",
    "items",
    "anyOf",
    "required",
    "enum",
    "pattern",
    "additionalProperties",
    "minLength",
    "not",
  ],
);
const schemaLike = fc.letrec((tie) => ({
  part: fc.oneof(
    { depthSize: "small" },
    fc.jsonValue(),
    fc.constantFrom("object", "string", "(", ["string", "null"]),
    fc.dictionary(keyword, tie("part")),
    fc.array(tie("part")),
  ),
})).part;

describe("repairSchema", () => {
  it("does not change a valid schema", () => {
    const schema = {
      type: "object",
      properties: { name: { type: "string", minLength: 2, description: "N" }, list: { items: { enum: [1, null] } } },
      required: ["name"],
      additionalProperties: false,
      $defs: { x: { type: ["string", "null"] } },
    };
    expect(repairSchema(schema)).toEqual(schema);
  });

  it("turns any schema into an object schema, without alternatives at the top level", () => {
    for (const odd of [undefined, null, "string", [], true]) expect(repairSchema(odd)).toEqual({ type: "object" });
    expect(repairSchema({ type: "array", items: {} })).toEqual({ type: "object", items: {} });
    expect(repairSchema({ oneOf: [{ type: "object" }], allOf: [{}], properties: { a: true, b: false } })).toEqual({
      type: "object",
      properties: { a: {}, b: { not: {} } },
    });
    const nested = {
      properties: { a: { anyOf: [{ type: "string" }, true], items: [{}], type: "text" } },
    };
    expect(repairSchema(nested)).toEqual({
      type: "object",
      properties: { a: { anyOf: [{ type: "string" }, {}] } },
    });
  });

  it("describes patterns without running them", () => {
    const text = { type: "string", pattern: "^(a+)+$" };
    expect(repairSchema({ properties: { a: text, b: { ...text, description: "Name." }, c: { pattern: 1 } } })).toEqual({
      type: "object",
      properties: {
        a: { type: "string", description: "(Must match ^(a+)+$)" },
        b: { type: "string", description: "Name. (Must match ^(a+)+$)" },
        c: {},
      },
    });
  });

  it("drops limits that are not numbers", () => {
    const repaired = repairSchema({ properties: { a: { type: "string", minLength: {}, maxLength: 3 } } });
    expect(repaired).toEqual({ type: "object", properties: { a: { type: "string", maxLength: 3 } } });
  });

  it("returns a schema that inputs can be validated against, whatever it is given", () => {
    fc.assert(
      fc.property(schemaLike, fc.dictionary(fc.string(), fc.jsonValue()), (schema, input) => {
        const repaired = repairSchema(schema);
        expect(repaired["type"]).toBe("object");
        checkSchema(repaired, coerceInput(repaired, input));
      }),
    );
  });
});
