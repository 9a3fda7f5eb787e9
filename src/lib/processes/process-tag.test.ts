import { expect, it } from "vitest";
import { carriesTag, tagEnvironment } from "./process-tag.ts";

it("puts new tags after inherited ones", () => {
  expect(tagEnvironment({ A: "1", RETINUE_TAG: "stale" }, ["run-1", "call-2"], "outer")).toEqual({
    A: "1",
    RETINUE_TAG: "outer:run-1:call-2",
  });
  expect(tagEnvironment({}, ["only"], "")).toEqual({ RETINUE_TAG: "only" });
});

it("finds only whole tags, and only in their own variable", () => {
  const environment = "X=RETINUE_TAG=no\0RETINUE_TAG=outer:run-1\0Y=1\0";
  expect(["outer", "run-1", "run", "no", ""].map((tag) => carriesTag(environment, tag))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(carriesTag("RETINUE_TAG=first", "first")).toBe(true);
  expect(carriesTag("", "first")).toBe(false);
});

it("rejects tags that could not be found again", () => {
  for (const tags of [[], [""], ["a:b"], ["a\0b"], ["a b"]])
    expect(() => tagEnvironment({}, tags)).toThrow("process tag");
});
