import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitRules } from "./split-rules.ts";

describe("splitRules", () => {
  it("parts rules at commas and blanks outside of parentheses", () => {
    expect(splitRules(" Read,Edit  Bash(git log, git show) ,WebFetch(domain:a.b)")).toEqual([
      "Read",
      "Edit",
      "Bash(git log, git show)",
      "WebFetch(domain:a.b)",
    ]);
    expect(splitRules(" , ")).toEqual([]);
    expect(splitRules("Bash(echo (a b))")).toEqual(["Bash(echo (a b))"]);
  });

  it("finds every rule of a list again, whatever parts them", () => {
    const specifier = fc.stringMatching(/^[a-z ,:*/.]{0,12}$/);
    const rule = fc.oneof(
      fc.stringMatching(/^[A-Z][a-z]{1,8}$/),
      fc.tuple(fc.stringMatching(/^[A-Z][a-z]{1,8}$/), specifier).map(([tool, inner]) => `${tool}(${inner})`),
    );
    const separator = fc.constantFrom(",", " ", ", ", "\n", " , ");
    fc.assert(
      fc.property(fc.array(rule), separator, (rules, between) => {
        expect(splitRules(rules.join(between))).toEqual(rules);
      }),
    );
  });
});
