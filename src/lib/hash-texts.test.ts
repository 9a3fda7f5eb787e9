import { expect, it } from "vitest";
import { hashTexts } from "./hash-texts.ts";

it("gives equal lists equal hashes, and different lists different ones", () => {
  const lists = [[], [""], ["ab"], ["a", "b"], ["b", "a"], ["1:a"], ["a1:", ""], ["ü"], ["x".repeat(100_000)]];
  expect(new Set(lists.map(hashTexts)).size).toBe(lists.length);
  expect(hashTexts(["a", "b"])).toBe(hashTexts(["a", "b"]));
  expect(hashTexts(["a"])).toMatch(/^[\w-]{16}$/);
});
