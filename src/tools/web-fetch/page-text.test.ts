import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseSections } from "./page-text.ts";

describe("chooseSections", () => {
  it("leaves a short text, and any text without a question, as it is", () => {
    expect(chooseSections("short", "anything", 100)).toBe("short");
    expect(chooseSections("long ".repeat(100), "the", 100)).toBe("long ".repeat(100));
    expect(chooseSections("long ".repeat(100), "zebra", 100)).toBe("long ".repeat(100));
  });

  it("marks what it leaves out", () => {
    const parts = Array.from({ length: 50 }, (_, index) => `# Part ${index}\n${"filler words ".repeat(20)}`);
    parts[25] = "# Zebras\nA zebra has stripes.";
    const chosen = chooseSections(parts.join("\n\n"), "zebra stripes", 2_000);
    expect(chosen).toMatch(/^# Part 0\n[\s\S]*\n\[…\]\n# Zebras\nA zebra has stripes\.[\s\S]*\[…\]\n$/);
  });

  it("stays within the bound or gives the text unchanged", () => {
    const text = fc.array(fc.constantFrom("zebra", "lion", "\n\n", "\n# ", "word ".repeat(30)), { maxLength: 200 });
    fc.assert(
      fc.property(text, fc.integer({ min: 100, max: 5_000 }), (words, bound) => {
        const whole = words.join(" ");
        const chosen = chooseSections(whole, "zebra lion", bound);
        expect(chosen === whole || chosen.length <= bound + 10).toBe(true);
      }),
    );
  });
});
