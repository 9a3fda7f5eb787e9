import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createUtf8Decoder } from "./utf8-decoder.ts";

function decodeCut(bytes: Buffer, cuts: readonly number[]): string {
  const decoder = createUtf8Decoder();
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((left, right) => left - right), bytes.length];
  let text = "";
  for (let index = 1; index < places.length; index += 1) {
    text += decoder.write(bytes.subarray(places[index - 1], places[index]));
  }
  return text + decoder.end();
}

describe("decoding a stream", () => {
  const cuts = fc.array(fc.nat(200), { maxLength: 20 });

  it("gives the same text however valid text is cut", () => {
    const character = fc.constantFrom("a", "\n", "ä", "\u07ff", "\u0800", "你", "\ufeff", "\uffff", "🙂", "\u{10ffff}");
    const text = fc.string({ unit: character, maxLength: 60 });
    fc.assert(
      fc.property(text, cuts, (given, places) => {
        const bytes = Buffer.from(given);
        expect(decodeCut(bytes, places)).toBe(bytes.toString());
      }),
    );
  });

  it("gives what the standard decoder gives for any bytes, however cut", () => {
    const odd = fc.constantFrom(
      0x20,
      0x41,
      0x80,
      0xbf,
      0xc2,
      0xc3,
      0xe0,
      0xe2,
      0xed,
      0xf0,
      0xf4,
      0xff,
      0x82,
      0xac,
      0x9f,
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(odd, fc.nat(255)), { maxLength: 40 }), cuts, (given, places) => {
        const bytes = Buffer.from(given);
        const standard = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
        expect(decodeCut(bytes, places)).toBe(standard);
      }),
      { numRuns: 500 },
    );
  });
});
