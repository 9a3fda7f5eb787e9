import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTextCollector } from "./text-collector.ts";

describe("text collector", () => {
  it("gives a short stream back as it was", () => {
    const collector = createTextCollector({ headBytes: 4, tailBytes: 4 });
    for (const byte of Buffer.from("é👍a\n")) collector.push(Uint8Array.of(byte));
    expect(collector.collected()).toEqual({
      text: "é👍a\n",
      truncated: false,
      totalBytes: 8,
      totalLines: 1,
      leftOutBytes: 0,
    });
  });

  it("keeps head and tail of a long one and goes on afterwards", () => {
    const collector = createTextCollector({ headBytes: 6, tailBytes: 6 });
    collector.push("first\nmiddle\nlast\n");
    expect(collector.collected().text).toBe("first\n[… 6 bytes left out …]\n\nlast\n");
    collector.push("newer\n");
    expect(collector.collected()).toEqual({
      text: "first\n[… 12 bytes left out …]\nnewer\n",
      truncated: true,
      totalBytes: 24,
      totalLines: 4,
      leftOutBytes: 12,
    });
  });

  it("works with no head or no tail", () => {
    const tailOnly = createTextCollector({ headBytes: 0, tailBytes: 3 });
    tailOnly.push("abcdef");
    expect(tailOnly.collected().text).toBe("[… 3 bytes left out …]\ndef");
    const headOnly = createTextCollector({ headBytes: 3, tailBytes: 0 });
    headOnly.push("abcdef");
    expect(headOnly.collected().text).toBe("abc\n[… 3 bytes left out …]\n");
  });

  it("splits no character and gives the same text for every way of chunking", () => {
    const text = fc
      .array(fc.constantFrom("a", "é", "日", "👍", "\n"), { maxLength: 60 })
      .map((parts) => parts.join(""));
    const limit = fc.integer({ min: 0, max: 40 });
    fc.assert(
      fc.property(
        text,
        fc.tuple(limit, limit),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (whole, [headBytes, tailBytes], sizes) => {
          const bytes = Buffer.from(whole);
          const atOnce = createTextCollector({ headBytes, tailBytes });
          atOnce.push(bytes);
          const inPieces = createTextCollector({ headBytes, tailBytes });
          for (let start = 0, turn = 0; start < bytes.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1;
            inPieces.push(bytes.subarray(start, start + size));
            start += size;
          }
          const collected = atOnce.collected();
          expect(inPieces.collected()).toEqual(collected);
          expect(collected.text).not.toContain("\ufffd");
          expect(collected.truncated).toBe(bytes.length > headBytes + tailBytes);
          if (!collected.truncated) expect(collected.text).toBe(whole);
          else expect(Buffer.byteLength(collected.text)).toBeLessThanOrEqual(headBytes + tailBytes + 40);
        },
      ),
    );
  });

  it("takes invalid bytes as they come", () => {
    const collector = createTextCollector({ headBytes: 4, tailBytes: 4 });
    collector.push(Buffer.alloc(20, 0x80));
    collector.push(Buffer.alloc(20, 0xff));
    expect(collector.collected().totalBytes).toBe(40);
    expect(collector.collected().text).toContain("left out");
  });

  it("holds an endless stream in bounded memory", () => {
    const collector = createTextCollector({ headBytes: 1024, tailBytes: 1024 });
    const chunk = Buffer.alloc(1 << 20, `${"y".repeat(1023)}\n`);
    for (let turn = 0; turn < 200; turn++) collector.push(chunk);
    const { text, totalBytes, totalLines } = collector.collected();
    expect([totalBytes, totalLines]).toEqual([200 << 20, 200 << 10]);
    expect(text.length).toBeLessThan(2200);
  });
});
