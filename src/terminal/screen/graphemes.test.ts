import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { boundaryAtOrAfter, boundaryBefore, graphemes } from "./graphemes.ts";

const units = [
  "a",
  " ",
  "\n",
  "\r\n",
  "é",
  "e\u0301",
  "漢",
  "각",
  "ᄀ",
  "가",
  "ᆨ",
  "👍🏽",
  "👨‍👩‍👧",
  "🇩🇪",
  "ש",
  "क्षि",
  "\u0600",
  "\ud83d",
];
/** Long enough to be segmented in several pieces. */
const text = fc
  .tuple(fc.string({ unit: fc.constantFrom(...units), maxLength: 60 }), fc.integer({ min: 1, max: 12 }))
  .map(([part, times]) => part.repeat(times));

it("are those of Intl.Segmenter", () => {
  const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  fc.assert(
    fc.property(text, fc.nat(), (whole, at) => {
      const expected = Array.from(segmenter.segment(whole), ({ segment }) => segment);
      expect([...graphemes(whole)]).toEqual(expected);
      let end = 0;
      const boundaries = [0, ...expected.map(({ length }) => (end += length))];
      const index = at % (whole.length + 1);
      expect(boundaryAtOrAfter(whole, index)).toBe(boundaries.find((each) => each >= index));
      expect(boundaryBefore(whole, index)).toBe(boundaries.findLast((each) => each < index) ?? 0);
    }),
  );
});

it("are found in time that is proportional to the length, even if there is only one", () => {
  const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
  const segmented = (long: string): readonly number[] => {
    segment.mockClear();
    expect([...graphemes(long)].join("")).toBe(long);
    return segment.mock.calls.map(([piece]) => piece.length);
  };
  // V8 takes quadratic time to segment a text.
  expect(Math.max(...segmented("e\u0301 👍🏽\n".repeat(20_000)))).toBeLessThan(1_000);
  const one = `e${"\u0301".repeat(100_000)}`;
  expect(segmented(one).reduce((sum, length) => sum + length, 0)).toBeLessThan(5 * one.length);
  segment.mockRestore();
});
