import { describe, expect, it } from "vitest";
import { findSchemaProblem } from "./check-json-schema.ts";
import { validateJson } from "./validate-json.ts";

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

describe("a program's JSON Schema", () => {
  const node = object({ n: { type: "number" } }, { required: ["n"] });
  it.each([
    [
      "$ref",
      object({ a: { $ref: "#/$defs/node" } }, { $defs: { node } }),
      { a: { n: "1" } },
      "a.n must be a number, not a string",
    ],
    ["$ref to itself", object({ a: { $ref: "#" } }), { a: { a: 1 } }, "a.a must be an object, not a number"],
    [
      "$anchor",
      object({ a: { $ref: "#x" } }, { $defs: { x: { ...node, $anchor: "x" } } }),
      { a: {} },
      "a.n is required",
    ],
    ["oneOf", { oneOf: [{ type: "string" }, { type: "number", minimum: 3 }] }, 2, " must be at least 3, not 2"],
    [
      "oneOf twice",
      { oneOf: [{ type: "number" }, { minimum: 1 }] },
      2,
      " must match exactly one of the schemas in oneOf, not several",
    ],
    ["anyOf types", { anyOf: [{ type: "string" }, { type: "null" }] }, 2, " must be a string or null, not a number"],
    ["anyOf items", { items: { anyOf: [{ const: 1 }, { const: 2 }] } }, [1, 3, 4], "[1] must be 1; [2] must be 1"],
    [
      "allOf",
      { allOf: [{ minLength: 3 }, { pattern: "^a" }] },
      "b",
      " must have at least 3 characters; must match the pattern ^a",
    ],
    ["not", { not: { type: "string" } }, "b", ' must not match {"type":"string"}'],
    ["format", object({ mail: { type: "string", format: "email" } }), { mail: "x" }, "mail must have the format email"],
    [
      "patternProperties",
      { patternProperties: { "^x": { type: "number" } }, additionalProperties: false },
      { x1: "s", y: 1 },
      "x1 must be a number, not a string; y is not a known property; no properties are defined",
    ],
    ["propertyNames", { propertyNames: { pattern: "^a" } }, { b: 1 }, " must not have a property named b"],
    [
      "dependentRequired",
      { dependentRequired: { a: ["b"] } },
      { a: 1 },
      ' is not valid: Instance has "a" but does not have "b"',
    ],
    ["minProperties", { minProperties: 1 }, {}, " must have 1 or more properties"],
    ["if and then", JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}'), { a: 1 }, "b is required"],
    [
      "prefixItems",
      { prefixItems: [{ type: "string" }], items: { type: "number" } },
      ["a", "b"],
      "[1] must be a number, not a string",
    ],
    ["uniqueItems", { uniqueItems: true }, [1, 1], " must not contain an item twice"],
    ["exclusiveMinimum", { exclusiveMinimum: 3, multipleOf: 2 }, 3, " must be above 3; must be a multiple of 2"],
    ["false", object({ a: false }), { a: 1 }, "a is not allowed"],
    ["required", object({}, { required: ["a", "b"] }), {}, "a is required; b is required"],
    [
      "a misspelled property",
      object({ path: {} }, { additionalProperties: false }),
      { pth: 1 },
      "pth is not a known property. Did you mean `path`?",
    ],
    ["enum", { enum: ["red", "blue"] }, "rde", ' must be "red" or "blue", not "rde". Did you mean "red"?'],
    [
      "an older draft",
      { $schema: "http://json-schema.org/draft-04/schema#", minimum: 3, exclusiveMinimum: true },
      3,
      " is not valid: 3 is less than or equal to 3",
    ],
  ])("checks %s", async (_, schema, value, expected) => {
    expect(findSchemaProblem(schema)).toBeUndefined();
    const problems = await validateJson(schema, value);
    const [first, ...more] = problems.map(({ path, message }) => `${path} ${message}`);
    expect([first, ...more.map((each) => each.trim())].join("; ")).toBe(expected);
  });

  it.each([
    [{ type: "strng" }, 'has an unknown type "strng"', 'Did you mean "string"?'],
    [object({ a: { type: ["string", "date"] } }), 'has an unknown type "date" at properties.a', "Use string, number"],
    [
      { $ref: "https://example.com/x.json" },
      'has a $ref to "https://example.com/x.json", which is outside the schema',
      "$defs",
    ],
    [
      object({ a: { $ref: "#/$defs/x" } }),
      'has a $ref at properties.a to "#/$defs/x", which is not in the schema',
      "$defs",
    ],
    [{ type: "string", pattern: "(" }, 'has an invalid value for pattern: "("', "regular expression"],
    [{ type: "object", properties: 5 }, "has an invalid value for properties: 5", "object of schemas"],
    [object({ a: 5 }), "has an invalid schema at properties.a", "object, true or false"],
    [
      object({ a: { type: "string", required: true } }),
      "has an invalid value for required at properties.a: true",
      "list of strings",
    ],
    [{ type: "object", propertis: {} }, "has an unknown keyword propertis", "Did you mean properties?"],
    [{ $dynamicRef: "#x" }, "uses $dynamicRef, which is not supported", "$ref"],
    [{ name: { type: "string" } }, 'is not a JSON Schema: "name" is not a keyword', "properties"],
    [{ $schema: "https://example.com/mine", type: "object" }, "has an unknown $schema", "2020-12"],
  ])("is refused if it is %j", (schema, message, fix) => {
    const problem = findSchemaProblem(schema);
    expect(problem?.message).toContain(message);
    expect(problem?.fix).toContain(fix);
  });

  it("may have annotations and custom keywords, and is refused if it contains itself", () => {
    expect(findSchemaProblem({ type: "object", "x-order": 1, title: "A", examples: [{}] })).toBeUndefined();
    const cycle: Record<string, unknown> = { type: "object" };
    cycle["properties"] = { a: cycle };
    expect(findSchemaProblem(cycle)?.message).toContain("contains itself");
  });
});
