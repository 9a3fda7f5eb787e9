import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDisguised, mixesAlphabets, namedLetters, shapeOf } from "./confusable-name.ts";

describe("the shape of a name", () => {
  it.each([
    ["Exp\u04cfore", "explore"],
    ["Е\u0445plore", "explore"],
    ["Ｅｘｐｌｏｒｅ", "explore"],
    ["Exp\u200blore", "explore"],
    ["Pl\u0430n", "plan"],
    ["Ρl\u03b1n", "plan"],
    ["general-\u0440urpose", "general-purpose"],
  ])("of %j is %j, which is not what is written", (name, shape) => {
    expect([shapeOf(name), isDisguised(name)]).toEqual([shape, true]);
  });

  it.each(["Explore", "prüfer", "审查员", "レビュー", "日本語-helper"])("of %j is its own", (name) => {
    expect([shapeOf(name), isDisguised(name)]).toEqual([name.toLowerCase(), false]);
  });

  it("of a shape is that shape, and plain names have none but their own", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (name) => {
        if (/^[ -~]*$/.test(name)) expect([shapeOf(name), isDisguised(name)]).toEqual([name.toLowerCase(), false]);
        expect(shapeOf(name.normalize("NFKC"))).toBe(shapeOf(name));
      }),
    );
  });
});

describe("alphabets", () => {
  it.each(["Exp\u04cfore", "r\u0435viewer", "\u03b1lpha"])("are mixed in %j", (name) => {
    expect(mixesAlphabets(name)).toBe(true);
  });

  it.each(["reviewer", "проверка", "анализ-sql", "Δ-checker", "审查-bot", "naïve"])("are not mixed in %j", (name) => {
    expect(mixesAlphabets(name)).toBe(false);
  });

  it("are named for the letters that do not belong", () => {
    expect(namedLetters("Exp\u04cfor\u200be")).toBe('"ӏ" (Cyrillic, U+04CF), an invisible character (U+200B)');
  });
});
