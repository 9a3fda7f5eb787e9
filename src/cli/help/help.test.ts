import { describe, expect, it } from "vitest";
import { helpTopics } from "../command.ts";
import { helpFor } from "./help.ts";

describe.each(["retinue", ...helpTopics] as const)("help for %s", (topic) => {
  const lines = helpFor(topic).split("\n");

  it("fits into 80 columns and ends with a newline", () => {
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.at(-1)).toBe("");
  });

  it("shows examples first", () => {
    expect(lines.indexOf("Examples")).toBe(2);
  });
});
