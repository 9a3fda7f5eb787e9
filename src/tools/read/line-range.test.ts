import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitLines } from "../shared/page-lines.ts";
import { decodeText, type Encoding, encodeText } from "../shared/text-encoding.ts";
import { choose, linesInPart, linesOf } from "./line-range.ts";

const encodings: readonly Encoding[] = ["utf-8", "utf-8-bom", "utf-16le", "utf-16be", "latin1"];
const piece = fc.constantFrom("", "a", "b c", "\n", "\n\n", "\r\n", "\r", "é", "\u0a0a", "😀");

describe("linesOf", () => {
  it("finds the same lines as splitting the whole text", () => {
    const texts = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    const asked = fc.record({ offset: fc.integer({ min: 1, max: 12 }), limit: fc.integer({ min: 1, max: 12 }) });
    fc.assert(
      fc.property(texts, fc.constantFrom(...encodings), asked, (text, encoding, range) => {
        const bytes = encodeText(text, encoding);
        fc.pre(bytes !== undefined);
        const whole = decodeText(bytes);
        fc.pre(whole.ok && whole.encoding === encoding);
        const expected = choose(splitLines(whole.text), range);
        expect(linesOf(bytes, encoding, range)).toEqual(expected);
        for (let length = 0; length <= bytes.length; length++) {
          const found = linesInPart(bytes.subarray(0, length), encoding, { ...range, total: expected.total });
          if (found !== undefined) expect(found).toEqual(expected);
        }
      }),
    );
  });

  it("needs only the bytes up to the end of the requested lines", () => {
    const part = Buffer.from("one\ntwo\nthree\nfo");
    expect(linesInPart(part, "utf-8", { offset: 2, limit: 2, total: 9 })).toEqual({
      lines: ["two", "three"],
      total: 9,
    });
    expect(linesInPart(part, "utf-8", { offset: 2, limit: 3, total: 9 })).toBeUndefined();
  });
});
