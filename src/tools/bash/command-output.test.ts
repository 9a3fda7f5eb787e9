import fc from "fast-check";
import { expect, it } from "vitest";
import { createWholeCharacters } from "./command-output.ts";

it("returns all bytes, and never splits a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.integer({ min: 1, max: 5 })), (text, sizes) => {
      const bytes = Buffer.from(text);
      const characters = createWholeCharacters();
      let whole = "";
      let position = 0;
      for (const size of [...sizes, bytes.length]) {
        whole += Buffer.from(characters.take(bytes.subarray(position, position + size))).toString();
        position += size;
      }
      expect(whole + Buffer.from(characters.rest()).toString()).toBe(text);
    }),
  );
});

it("does not hold back bytes that can't become a character", () => {
  const characters = createWholeCharacters();
  expect([...characters.take(Uint8Array.of(0x80, 0x80, 0x80, 0x80))]).toEqual([0x80, 0x80, 0x80, 0x80]);
  expect([...characters.rest()]).toEqual([]);
});
