import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonc } from "./jsonc.ts";

function read(text: string): unknown {
  const result = parseJsonc(text);
  if ("error" in result) throw new Error(JSON.stringify(result.error));
  return result.value;
}

const anyJson = fc.oneof(
  fc.json(),
  fc.json().map((text) => JSON.stringify(JSON.parse(text), null, 2)),
);

describe("parseJsonc", () => {
  it("reads comments and trailing commas", () => {
    expect(read('\ufeff// first\n{ "a": [1, 2,], /* in\nbetween */ "b": "// no comment", }\n// last')).toEqual({
      a: [1, 2],
      b: "// no comment",
    });
    expect(read("/**/[]//")).toEqual([]);
  });

  it("agrees with JSON.parse for all JSON", () => {
    fc.assert(
      fc.property(anyJson, (text) => {
        expect(read(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("returns the same value with blanks, comments and trailing commas between tokens", () => {
    const filler = fc
      .array(fc.constantFrom(" ", "\n", "\t", "\r\n", '// x, ] } "\n', '/* x, ] } " */', "/***/"), { maxLength: 3 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        anyJson,
        fc.array(filler, { minLength: 1, maxLength: 9 }),
        fc.boolean(),
        (text, fillers, trailing) => {
          const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
          let changed = "";
          tokens.forEach((token, index) => {
            const closesFilled = /^[\]}]$/.test(token) && !/^[[{]$/.test(tokens[index - 1] ?? "");
            changed += fillers[index % fillers.length] ?? "";
            changed += trailing && closesFilled ? `,${fillers[0] ?? ""}${token}` : token;
          });
          expect(read(changed)).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  it("rejects what JSON.parse rejects, except comments, trailing commas and byte order marks", () => {
    const broken = fc.string({ unit: fc.constantFrom(..."{}[]:\"\\0123.eE+-truefalsn \n\tx'\u00a0".split("")) });
    fc.assert(
      fc.property(broken, (text) => {
        const own = "value" in parseJsonc(text);
        const strict = accepts(text);
        if (strict) expect(own).toBe(true);
        else if (!/,/.test(text)) expect(own).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["", 1, 1, "expected a value, but the text ends"],
    ['{"a": 1,\n "b" 2}', 2, 6, 'expected ":"'],
    ["{'a': 1}", 1, 2, "double quotes"],
    ["[1 2]", 1, 4, 'expected "," or "]", not "2"'],
    ["[1,\n2", 2, 2, "not the end of the text"],
    ["[,]", 1, 2, "expected a value"],
    ["[1,,]", 1, 4, "expected a value"],
    ["{,}", 1, 2, "a key in double quotes"],
    ['"abc', 1, 1, "no closing quote"],
    ['"a\tb"', 1, 1, "control character"],
    ['"\\x"', 1, 1, "invalid escape"],
    ["[01]", 1, 2, '"01" is not a JSON value'],
    ["[+1]", 1, 2, "is not a JSON value"],
    ["[1.]", 1, 2, "is not a JSON value"],
    ["NaN", 1, 1, "is not a JSON value"],
    ["undefined", 1, 1, "is not a JSON value"],
    ["1 2", 1, 3, "after the end"],
    ["/* open", 1, 1, "comment is not closed"],
    ["1 / 2", 1, 3, "after the end"],
  ])("rejects %j at %i:%i", (text, line, column, message) => {
    const result = parseJsonc(text);
    expect(result).toMatchObject({ error: { line, column } });
    expect("error" in result && result.error.message).toContain(message);
  });

  it("warns about a duplicate key and uses the last value", () => {
    const result = parseJsonc('{"a": 1,\n "b": {"a": 2}, "a": 3}');
    expect(result).toMatchObject({ value: { a: 3, b: { a: 2 } }, warnings: [{ line: 2, column: 17 }] });
  });

  it("treats __proto__ and constructor as ordinary keys", () => {
    const value = read('{"__proto__": {"polluted": true}, "constructor": 1, "toString": 2}') as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(["__proto__", "constructor", "toString"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect("polluted" in value).toBe(false);
    expect(read('{"__proto__": 1, "__proto__": 2}')).toEqual(JSON.parse('{"__proto__": 2}'));
  });

  it("limits the depth", () => {
    expect(read(`${"[".repeat(200)}${"]".repeat(200)}`)).toBeDefined();
    expect(parseJsonc("[".repeat(1_000_000))).toMatchObject({ error: { column: 201 } });
  });

  it("is fast and exact for long strings", () => {
    const long = "x".repeat(5_000_000);
    expect(read(JSON.stringify(long))).toBe(long);
  });
});

function accepts(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
