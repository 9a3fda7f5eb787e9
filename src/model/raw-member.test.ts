import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rawMember } from "./raw-member.ts";

describe("a raw member", () => {
  it("keeps number formats, key order and spaces", () => {
    expect(rawMember(' { "a" : [1.0, {"x":"}"}] , "b" :\n{"z":1e2, "a\\"b" : "\\u00e9]"} }', "b")).toBe(
      '{"z":1e2, "a\\"b" : "\\u00e9]"}',
    );
    expect(rawMember('{"n":-1.50,"m":true}', "n")).toBe("-1.50");
    expect(rawMember('{"n":-1.50,"m":true}', "m")).toBe("true");
    expect(rawMember('{"\\u006e":"yes"}', "n")).toBe('"yes"');
    expect(rawMember('{"a":{"b":1}}', "b")).toBeUndefined();
    expect(rawMember("{}", "b")).toBeUndefined();
  });

  it("is found in any JSON object, with or without spaces", () => {
    const object = fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 3 }), {
      minKeys: 1,
      maxKeys: 6,
    });
    fc.assert(
      fc.property(object, fc.constantFrom(0, 2), (value, indent) => {
        const json = JSON.stringify(value, null, indent);
        for (const [name, member] of Object.entries(value)) {
          const raw = rawMember(json, name);
          expect(raw === undefined ? undefined : JSON.parse(raw)).toEqual(JSON.parse(JSON.stringify(member)));
        }
      }),
    );
  });
});
