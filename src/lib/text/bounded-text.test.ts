import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundText, countLines, createTextCollector } from "./bounded-text.ts";

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

describe("boundText", () => {
  it("does not change text that fits", () => {
    expect(boundText("a\nb\n", { maxCharacters: 4, maxLines: 2 })).toEqual({
      text: "a\nb\n",
      truncated: false,
      totalCharacters: 4,
      totalLines: 2,
    });
  });

  it("keeps whole lines at the start and the end, and says what is missing", () => {
    const bounded = boundText(lines(2000), { maxCharacters: 200 });
    expect(bounded.text).toBe(
      `${lines(14)}[… 1,982 lines (18,750 characters) left out …]\nline 1997\nline 1998\nline 1999\nline 2000\n`,
    );
    expect(bounded).toMatchObject({ truncated: true, totalLines: 2000, totalCharacters: 18_893 });
  });

  it("keeps the first and last lines if there are too many lines but not too many characters", () => {
    expect(boundText(lines(100), { maxCharacters: 10_000, maxLines: 10 }).text).toBe(
      `${lines(7)}[… 90 lines (718 characters) left out …]\nline 98\nline 99\nline 100\n`,
    );
    expect(boundText(lines(100), { maxCharacters: 10_000, maxLines: 1 }).text).toBe(
      "line 1\n[… 99 lines (785 characters) left out …]\n",
    );
  });

  it("cuts inside one long line and then counts characters", () => {
    const { text } = boundText("x".repeat(1000), { maxCharacters: 100 });
    expect(text).toMatch(/^x+\n\[… \d+ characters left out …\]\nx+$/);
    expect(text.length).toBeLessThanOrEqual(100);
  });

  it("cuts without a marker if there is no room for one", () => {
    expect(boundText("👍👍👍", { maxCharacters: 3 })).toMatchObject({ text: "👍", truncated: true });
    expect(boundText("abc", { maxCharacters: 0 }).text).toBe("");
  });

  it("stays within its limits, splits no surrogate pair, and accounts for every character", () => {
    const anyText = fc
      .array(fc.oneof(fc.constantFrom("\n", "👍", "\r\n", "日本", "word "), fc.string()), { maxLength: 120 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        anyText,
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 1, max: 20 }),
        (text, maxCharacters, maxLines) => {
          const bounded = boundText(text, { maxCharacters, maxLines });
          expect(bounded.text.length).toBeLessThanOrEqual(maxCharacters);
          expect(bounded.truncated).toBe(bounded.text !== text);
          expect(countLines(bounded.text)).toBeLessThanOrEqual(maxLines + 1);
          if (countSurrogateHalves(text) === 0) expect(countSurrogateHalves(bounded.text)).toBe(0);
          const found = /^(.*?)\n?\[… (?:[\d,]+ lines? \()?([\d,]+) characters?\)? left out …\]\n(.*)$/s.exec(
            bounded.text,
          );
          if (!bounded.truncated || !found) return;
          const [, head = "", count = "", tail = ""] = found;
          expect(text.startsWith(head)).toBe(true);
          expect(text.endsWith(tail)).toBe(true);
          const kept = text.length - Number(count.replaceAll(",", ""));
          expect([head.length + tail.length, head.length + 1 + tail.length]).toContain(kept);
        },
      ),
    );
  });
});

function countSurrogateHalves(text: string): number {
  return (text.match(/\p{Surrogate}/gu) ?? []).length;
}

describe("countLines", () => {
  it.each([
    ["", 0],
    ["\n", 1],
    ["a", 1],
    ["a\n", 1],
    ["a\nb", 2],
    ["a\n\n", 2],
  ])("%j has %i", (text, expected) => expect(countLines(text)).toBe(expected));
});

describe("text collector", () => {
  it("returns a short stream unchanged", () => {
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

  it("keeps the head and tail of a long stream, and accepts more afterwards", () => {
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

  it("works without a head or a tail", () => {
    const tailOnly = createTextCollector({ headBytes: 0, tailBytes: 3 });
    tailOnly.push("abcdef");
    expect(tailOnly.collected().text).toBe("[… 3 bytes left out …]\ndef");
    const headOnly = createTextCollector({ headBytes: 3, tailBytes: 0 });
    headOnly.push("abcdef");
    expect(headOnly.collected().text).toBe("abc\n[… 3 bytes left out …]\n");
  });

  it("splits no character, and does not depend on how the input is split into chunks", () => {
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

  it("keeps invalid bytes", () => {
    const collector = createTextCollector({ headBytes: 4, tailBytes: 4 });
    collector.push(Buffer.alloc(20, 0x80));
    collector.push(Buffer.alloc(20, 0xff));
    expect(collector.collected().totalBytes).toBe(40);
    expect(collector.collected().text).toContain("left out");
  });

  it("needs limited memory for an endless stream", () => {
    const collector = createTextCollector({ headBytes: 1024, tailBytes: 1024 });
    const chunk = Buffer.alloc(1 << 20, `${"y".repeat(1023)}\n`);
    for (let turn = 0; turn < 200; turn++) collector.push(chunk);
    const { text, totalBytes, totalLines } = collector.collected();
    expect([totalBytes, totalLines]).toEqual([200 << 20, 200 << 10]);
    expect(text.length).toBeLessThan(2200);
  });
});
