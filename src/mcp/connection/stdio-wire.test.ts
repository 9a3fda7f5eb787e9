import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitLines } from "./stdio-wire.ts";

function split(chunks: readonly Uint8Array[], maxBytes = 1_000) {
  const lines: string[] = [];
  let tooLong = 0;
  const splitter = splitLines({
    maxBytes,
    onLine: (line) => lines.push(line),
    onTooLong: () => {
      tooLong += 1;
    },
  });
  for (const chunk of chunks) splitter.push(chunk);
  return { lines, tooLong };
}

describe("splitLines", () => {
  it("returns the same lines no matter how the bytes arrive", () => {
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", ""));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(20)), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
        const chunks: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) {
          chunks.push(bytes.subarray(at, at + cut));
          at = Math.min(bytes.length, at + cut);
        }
        chunks.push(bytes.subarray(at));
        expect(split(chunks, 100_000)).toEqual({ lines, tooLong: 0 });
      }),
    );
  });

  it("holds back an incomplete line, and emits nothing after a line that is too long", () => {
    expect(split([Buffer.from("a\nb")])).toEqual({ lines: ["a"], tooLong: 0 });
    const chunks = [Buffer.from("1234\n12345"), Buffer.from("6\n1\n"), Buffer.from("x".repeat(50))];
    expect(split(chunks, 5)).toEqual({ lines: ["1234"], tooLong: 1 });
  });
});
