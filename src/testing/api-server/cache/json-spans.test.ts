import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { itemsOf, membersOf, valueAt, withoutMember } from "./json-spans.ts";

const spaced = (value: unknown, indent: number) => Buffer.from(JSON.stringify(value, null, indent));
const parse = (json: Buffer, span: { start: number; end: number }) =>
  JSON.parse(json.toString("utf8", span.start, span.end));

describe("byte ranges of JSON", () => {
  it("cover the members of any object and the items of any list", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.array(fc.jsonValue()),
        fc.nat(3),
        (object, list, indent) => {
          const objectJson = spaced(object, indent);
          const members = membersOf(objectJson, valueAt(objectJson, 0));
          const found = members.map((member) => [JSON.parse(`"${member.key}"`), parse(objectJson, member.value)]);
          expect(found).toEqual(Object.entries(JSON.parse(objectJson.toString())));
          const listJson = spaced(list, indent);
          expect(itemsOf(listJson, valueAt(listJson, 0)).map((span) => parse(listJson, span))).toEqual(
            JSON.parse(listJson.toString()),
          );
        },
      ),
    );
  });

  it("can be removed at any position without a trace", () => {
    const keys = fc.uniqueArray(
      fc.string().filter((key) => key !== "mark" && !/^\d+$/.test(key) && key !== "__proto__"),
    );
    fc.assert(
      fc.property(keys, fc.jsonValue(), fc.nat(), (names, value, seed) => {
        const entries = names.map((name) => [name, value] as const);
        const place = seed % (entries.length + 1);
        const marked = [...entries.slice(0, place), ["mark", { a: [1, "}"] }] as const, ...entries.slice(place)];
        const json = spaced(Object.fromEntries(marked), 0);
        const expected = JSON.stringify(Object.fromEntries(entries));
        const object = valueAt(json, 0);
        const without = withoutMember(json, object, { members: membersOf(json, object), key: "mark" });
        expect(without.toString()).toBe(expected);
      }),
    );
  });

  it("are not affected by quotes and brackets inside strings", () => {
    const json = Buffer.from('  { "a\\"}" : "\\\\" , "b":"]\\\\\\"{" }');
    const members = membersOf(json, valueAt(json, 0));
    expect(members.map((member) => parse(json, member.value))).toEqual(["\\", ']\\"{']);
  });
});
