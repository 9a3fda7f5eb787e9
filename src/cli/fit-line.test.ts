import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { displayWidth, fitLine } from "./fit-line.ts";

describe("fitLine", () => {
  it("counts wide characters as two columns, and marks where text was cut", () => {
    expect(fitLine("abcdef", 6)).toBe("abcdef");
    expect(fitLine("abcdef", 5)).toBe("abcd…");
    expect(fitLine("日本語", 6)).toBe("日本語");
    expect(fitLine("日本語", 5)).toBe("日本…");
  });

  it("never exceeds the given columns, and never changes text that fits", () => {
    const text = fc.string({ unit: fc.constantFrom("a", " ", "é", "語", "🙂", "e\u0301") });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 40 }), (line, columns) => {
        const fitted = fitLine(line, columns);
        expect(displayWidth(fitted)).toBeLessThanOrEqual(columns);
        if (displayWidth(line) <= columns) expect(fitted).toBe(line);
      }),
    );
  });
});
