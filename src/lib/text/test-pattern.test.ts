import { expect, it } from "vitest";
import { testPattern } from "./test-pattern.ts";

it("returns a result for each string", () => {
  expect(testPattern("^a+$", { texts: ["aa", "ab", "a"] })).toEqual({ ok: true, matches: [true, false, true] });
  expect(testPattern("^.$", { texts: ["😀"], flags: "u" })).toEqual({ ok: true, matches: [true] });
});

it.each(["(", "[", "a{2,1}", "(".repeat(100_000)])("reports %.10s as invalid", (pattern) => {
  expect(testPattern(pattern, { texts: ["a"] })).toMatchObject({ ok: false, problem: "invalid" });
});

it.each(["(a+)+$", "(a|a)*$", "(.*)*b", "(a*)*(a*)*(a*)*b"])("stops %s", (pattern) => {
  const texts = [`${"a".repeat(5_000)}!`];
  expect(testPattern(pattern, { texts })).toMatchObject({ ok: false, problem: "slow" });
});
