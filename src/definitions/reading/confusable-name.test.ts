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
  ])("for %j is %j, which differs from its spelling", (name, shape) => {
    expect([shapeOf(name), isDisguised(name)]).toEqual([shape, true]);
  });

  it.each(["Explore", "prüfer", "审查员", "レビュー", "日本語-helper"])("for %j is the name itself", (name) => {
    expect([shapeOf(name), isDisguised(name)]).toEqual([name.toLowerCase(), false]);
  });

  it("does not change when computed again, and plain names have no other shape", () => {
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

  it("are listed with the confusable letters", () => {
    expect(namedLetters("Exp\u04cfor\u200be")).toBe('"ӏ" (Cyrillic, U+04CF), an invisible character (U+200B)');
  });
});
