import { describe, expect, it } from "vitest";
import { helpPages } from "./help.ts";

describe.each(Object.entries(helpPages))("help for %s", (_topic, page) => {
  const lines = page.split("\n");

  it("fits into 80 columns and ends with a newline", () => {
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.at(-1)).toBe("");
  });

  it("shows examples first", () => {
    expect(lines.indexOf("Examples")).toBe(2);
  });
});
