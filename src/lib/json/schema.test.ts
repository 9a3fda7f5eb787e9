import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkSchema, coerceInput, describeProblems, type Schema } from "./schema.ts";

const edit: Schema = {
  type: "object",
  properties: {
    file_path: { type: "string", minLength: 1 },
    edits: {
      type: "array",
      minItems: 1,
      maxItems: 3,
      items: {
        type: "object",
        properties: { old: { type: "string" }, new: { type: "string" } },
        required: ["old", "new"],
        additionalProperties: false,
      },
    },
    limit: { type: "integer", minimum: 1, maximum: 100, default: 10 },
    mode: { enum: ["content", "files", "count"] },
    pattern: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
    ratio: { type: ["number", "null"] },
    target: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
    version: { const: 2 },
  },
  required: ["file_path"],
  additionalProperties: false,
};

const told = (value: unknown, schema = edit) =>
  checkSchema(schema, value).map(({ path, message }) => `${path}: ${message}`);

describe("checkSchema", () => {
  it("accepts valid values", () => {
    const edits = [{ old: "a", new: "b" }];
    expect(
      told({
        file_path: "a",
        edits,
        limit: 100,
        mode: "files",
        pattern: "abc",
        ratio: null,
        target: ["x"],
        version: 2,
      }),
    ).toEqual([]);
    expect(told({ file_path: "a", ratio: 0.5, target: "x", limit: undefined })).toEqual([]);
  });

  it.each([
    [{}, "file_path: is required"],
    [{ file_path: 3 }, "file_path: must be a string, not a number"],
    [{ file_path: "" }, "file_path: must not be empty"],
    [
      {
        file_path: "a",
        edits: [
          { old: "x", new: "y" },
          { old: 1, new: "y" },
        ],
      },
      "edits[1].old: must be a string, not a number",
    ],
    [{ file_path: "a", edits: [] }, "edits: must have at least 1 item"],
    [{ file_path: "a", edits: Array(4).fill({ old: "", new: "" }) }, "edits: must have at most 3 items, not 4"],
    [{ file_path: "a", edits: [{ old: "x" }] }, "edits[0].new: is required"],
    [{ file_path: "a", edits: {} }, "edits: must be an array, not an object"],
    [{ file_path: "a", limit: 0 }, "limit: must be at least 1, not 0"],
    [{ file_path: "a", limit: 101 }, "limit: must be at most 100, not 101"],
    [{ file_path: "a", limit: 1.5 }, "limit: must be an integer, not 1.5"],
    [{ file_path: "a", limit: "5" }, "limit: must be an integer, not a string"],
    [
      { file_path: "a", mode: "file" },
      'mode: must be "content", "files" or "count", not "file". Did you mean "files"?',
    ],
    [{ file_path: "a", pattern: "ABC" }, "pattern: must match the pattern ^[a-z]+$"],
    [{ file_path: "a", pattern: "abcdef" }, "pattern: must have at most 5 characters, not 6"],
    [{ file_path: "a", ratio: "x" }, "ratio: must be a number or null, not a string"],
    [{ file_path: "a", target: 5 }, "target: must be a string or an array, not a number"],
    [{ file_path: "a", target: ["x", 5] }, "target[1]: must be a string, not a number"],
    [{ file_path: "a", version: 1 }, "version: must be 2"],
    [{ file_path: "a", "odd name": 1 }, '["odd name"]: is not a known property; the known properties are'],
    [null, ": must be an object, not null"],
    [[], ": must be an object, not an array"],
    [undefined, ": must be an object, not missing"],
  ])("finds the problem with %j", (value, expected) => {
    const problems = told(value);
    expect(problems.length).toBe(1);
    expect(problems[0]).toContain(expected);
  });

  it("suggests a property that is not set yet", () => {
    expect(told({ file: "a" })).toEqual([
      "file_path: is required",
      "file: is not a known property. Did you mean `file_path`?",
    ]);
    expect(told({ file_path: "a", filepath: "b" })[0]).not.toContain("file_path`?");
  });

  it("counts characters, not UTF-16 code units", () => {
    expect(told("👍👍", { type: "string", maxLength: 2, minLength: 2 })).toEqual([]);
    expect(told("👍", { type: "string", minLength: 2 })).toEqual([": must have at least 2 characters"]);
  });

  it("is not confused by names of inherited members", () => {
    const closed: Schema = {
      type: "object",
      properties: { a: {} },
      additionalProperties: false,
      required: ["toString"],
    };
    expect(told(JSON.parse('{"__proto__":1,"constructor":2}'), closed).map((text) => text.split(":")[0])).toEqual([
      "toString",
      "__proto__",
      "constructor",
    ]);
  });

  it("checks additional properties against their schema", () => {
    const counts: Schema = { type: "object", additionalProperties: { type: "integer" } };
    expect(told({ a: 1, b: "2" }, counts)).toEqual(["b: must be an integer, not a string"]);
  });

  it("accepts everything under an empty schema, and every value as its own constant", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(checkSchema({}, value)).toEqual([]);
        expect(checkSchema({ const: structuredClone(value) }, value)).toEqual([]);
        expect(checkSchema({ enum: [structuredClone(value)] }, value)).toEqual([]);
        expect(checkSchema({ const: [value] }, value).length).toBe(1);
      }),
    );
  });

  it("never throws, whatever the input", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => Array.isArray(checkSchema(edit, value))));
  });
});

it("stops matching a server's pattern that takes too long, and ignores an invalid pattern", () => {
  const value = `${"a".repeat(5_000)}!`;
  for (const pattern of ["^(a+)+$", "("]) expect(checkSchema({ type: "string", pattern }, value)).toEqual([]);
});

describe("describeProblems", () => {
  it("tells the model what to change", () => {
    expect(describeProblems(checkSchema(edit, { file: "a", limit: "x" }))).toBe(
      "The input is not valid. `file_path` is required. `file` is not a known property. Did you mean `file_path`? `limit` must be an integer, not a string. Correct this and repeat the call.",
    );
    expect(describeProblems(checkSchema(edit, 1))).toBe(
      "The input is not valid. It must be an object, not a number. Correct this and repeat the call.",
    );
  });

  it("returns text of limited length for any input", () => {
    const many = Array.from({ length: 1000 }, (_, index) => ({ path: `a[${index}]`, message: "is required" }));
    expect(describeProblems(many)).toContain("There are 994 more problems.");
  });
});

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
  ])("does not change %j", (value) => {
    expect(coerceInput(schema, value)).toBe(value);
  });

  it("does not change its argument, and returns valid values unchanged", () => {
    const given = Object.freeze({ limit: "5", list: Object.freeze(["1"]) });
    expect(coerceInput(schema, given)).toEqual({ limit: 5, list: [1] });
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        if (checkSchema(schema, value).length === 0) expect(coerceInput(schema, value)).toBe(value);
      }),
    );
  });

  it("keeps a member named __proto__", () => {
    const coerced = coerceInput(schema, JSON.parse('{"__proto__":{"x":1},"limit":"1"}')) as object;
    expect(JSON.stringify(coerced)).toBe('{"__proto__":{"x":1},"limit":1}');
    expect(Object.getPrototypeOf(coerced)).toBe(Object.prototype);
  });
});
