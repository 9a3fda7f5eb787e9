import { expect, it } from "vitest";
import { unverifiedWords } from "./unverified-words.ts";

it.each([
  [{ verdict: "fail" as const }, "Verification found what is wrong with it."],
  [{ verdict: "inconclusive" as const }, "Verification came to no verdict."],
  [{ exitCode: 1 }, '"Verification" ended with exit code 1.'],
])("says what work did not stand: %j", (more, words) => {
  const result = { command: "Verification", ok: false, exitCode: null, output: "", ...more };
  expect(unverifiedWords(result)).toBe(`The work is not verified: ${words}`);
});
