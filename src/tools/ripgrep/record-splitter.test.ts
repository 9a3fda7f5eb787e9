import fc from "fast-check";
import { expect, it } from "vitest";
import { createRecordSplitter } from "./record-splitter.ts";

function splitInChunks(text: string, cuts: readonly number[], maxBytes?: number): string[] {
  const bytes = Buffer.from(text);
  const records: string[] = [];
  const splitter = createRecordSplitter(
    10,
    (record) => records.push(record),
    maxBytes === undefined ? {} : { maxBytes },
  );
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((left, right) => left - right), bytes.length];
  for (let index = 1; index < places.length; index++)
    splitter.push(bytes.subarray(places[index - 1] ?? 0, places[index] ?? 0));
  splitter.end();
  return records;
}

it("returns the same records, wherever the stream is split", () => {
  const text = fc.array(fc.string({ unit: "grapheme" })).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, fc.array(fc.nat()), (whole, cuts) => {
      const lines = whole.split("\n");
      if (lines.at(-1) === "") lines.pop();
      expect(splitInChunks(whole, cuts)).toEqual(lines);
    }),
  );
});

it("truncates a record that is too long and continues with the next", () => {
  expect(splitInChunks(`${"x".repeat(100)}\nshort\n`, [7, 50], 10)).toEqual(["xxxxxxxxxx", "short"]);
});
