import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutInvisible } from "./invisible-characters.ts";
import { chooseSections } from "./page-text.ts";

describe("chooseSections", () => {
  it("returns short text, and text without a question, unchanged", () => {
    expect(chooseSections("short", "anything", 100)).toBe("short");
    expect(chooseSections("long ".repeat(100), "the", 100)).toBe("long ".repeat(100));
    expect(chooseSections("long ".repeat(100), "zebra", 100)).toBe("long ".repeat(100));
  });

  it("marks the sections that it omits", () => {
    const parts = Array.from({ length: 50 }, (_, index) => `# Part ${index}\n${"filler words ".repeat(20)}`);
    parts[25] = "# Zebras\nA zebra has stripes.";
    const chosen = chooseSections(parts.join("\n\n"), "zebra stripes", 2_000);
    expect(chosen).toMatch(/^# Part 0\n[\s\S]*\n\[…\]\n# Zebras\nA zebra has stripes\.[\s\S]*\[…\]\n$/);
  });

  it("takes only a moment for millions of headings", () => {
    const text = "\n#".repeat(2_000_000);
    expect(chooseSections(text, "zebra", 2_000)).toBe(text);
  });

  it("stays within the limit or returns the text unchanged", () => {
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

describe("withoutInvisible", () => {
  const tags = [..."ignore this"].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("");
  const selectors = [..."hidden"].map((letter) => String.fromCodePoint(0xe0100 + letter.charCodeAt(0))).join("");
  it.each([
    ["tag characters", `a${tags}b`],
    ["variation selectors", `a${selectors}b`],
    ["variation selectors of the basic plane", "a\ufe00\ufe05\ufe0db"],
    ["zero-width characters", "a\u200b\u200c\u200d\u2060\ufeffb"],
    ["bits written as joiners", "a\u200c\u200d\u200c\u200c\u200db"],
    ["bidirectional marks", "a\u202e\u202d\u2066\u2069\u200e\u200f\u061cb"],
    ["fillers", "a\u3164\u115f\u1160\uffa0\u00ad\u034fb"],
    ["control characters", "a\u0000\u001b\u009bb"],
  ])("removes %s", (_, text) => {
    expect(withoutInvisible(text).text).toBe("ab");
  });

  it.each(["👩‍👩‍👧", "❤️", "می‌خواهم", "क्‍ष", "tab\tline\n", "é", "日本"])("keeps %j", (text) => {
    expect(withoutInvisible(text)).toEqual({ text, removed: 0 });
  });
});
