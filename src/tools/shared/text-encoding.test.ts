import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText, encodeText } from "./text-encoding.ts";

const anyCharacter = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
const anyText = fc.string({ unit: anyCharacter });

describe("text encoding", () => {
  it("encodes decoded text to the same bytes", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      anyText.map((text) => Buffer.from(text)),
      fc.string().map((text) => Buffer.from(`\ufeff${text}`)),
      anyText.map((text) => Buffer.from(`\ufeff${text}`, "utf16le")),
      anyText.map((text) => Buffer.from(`\ufeff${text}`, "utf16le").swap16()),
    );
    fc.assert(
      fc.property(bytes, (given) => {
        const decoded = decodeText(given);
        if (!decoded.ok) return;
        expect(Buffer.from(encodeText(decoded.text, decoded.encoding) ?? [0])).toEqual(Buffer.from(given));
      }),
      { numRuns: 500 },
    );
  });

  it("reports characters that an encoding can't represent, and content that is not text", () => {
    expect(encodeText("→", "latin1")).toBeUndefined();
    expect(decodeText(Buffer.from("\u007fELF\0\0"))).toEqual({ ok: false, what: "an executable program" });
  });
});
