import { describe, expect, it } from "vitest";
import { commandPages } from "./command-pages.ts";
import { type CommandName, helpFor } from "./help.ts";

const topics = ["retinue", ...(Object.keys(commandPages) as CommandName[])] as const;

describe.each(topics)("help for %s", (topic) => {
  const lines = helpFor(topic).split("\n");

  it("fits into 80 columns and ends with a newline", () => {
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.at(-1)).toBe("");
  });

  it("shows examples first", () => {
    expect(lines.indexOf("Examples")).toBe(2);
  });
});
