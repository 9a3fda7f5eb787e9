import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCounts, parseHits, parseListing, parsePage, parsePaths } from "./results.ts";

describe("parsing tool results", () => {
  it("reads a listing", () => {
    expect(
      parseListing(
        "src/\nmy docs/\nlink@\nREADME.md 1.2 KB\nodd name 12 B\n[12 more not shown. Use Glob with a pattern.]",
      ),
    ).toEqual({
      directories: ["src", "my docs"],
      files: [
        { name: "link", size: "" },
        { name: "README.md", size: "1.2 KB" },
        { name: "odd name", size: "12 B" },
      ],
      left: 12,
    });
  });

  it("reads an empty listing", () => {
    expect(parseListing("[The directory is empty.]")).toEqual({ directories: [], files: [], left: 0 });
  });

  it("reads paths and the number of omitted paths", () => {
    expect(parsePaths("a.ts\nb/c.ts\n[1,204 older files not shown. Use a narrower pattern or path.]")).toEqual({
      paths: ["a.ts", "b/c.ts"],
      left: 1204,
    });
    for (const note of ["", "\n[Results are incomplete. Could not search: a (Permission denied).]"])
      expect(parsePaths(`No files found.${note}`)).toEqual({ paths: [], left: 0 });
  });

  it("reads counts, the totals and the number of omitted files", () => {
    const text =
      "a.ts:10\nb:c.ts:3\n1,013 matching lines in 4 files\n[2 more files not shown. Narrow the search or raise head_limit.]";
    expect(parseCounts(text)).toEqual({
      files: [
        { path: "a.ts", count: 10 },
        { path: "b:c.ts", count: 3 },
      ],
      totalLines: 1013,
      totalFiles: 4,
      left: 2,
      unsearched: [],
    });
  });

  it("reads lines under their paths, whatever they contain", () => {
    const text =
      "a.ts\n1:[3 more lines not shown: x]\n12:\n\nb.ts\n4:x: y\n[5 more lines not shown: narrow the search]";
    expect(parseHits(text)).toEqual({
      hits: [
        { path: "a.ts", line: 1, text: "[3 more lines not shown: x]" },
        { path: "a.ts", line: 12, text: "" },
        { path: "b.ts", line: 4, text: "x: y" },
      ],
      left: 5,
    });
  });

  it("reads complete and truncated pages", () => {
    expect(parsePage("1\ta\n2\tb\tc\n")).toEqual({
      lines: [
        { number: 1, text: "a" },
        { number: 2, text: "b\tc" },
      ],
      total: 2,
    });
    expect(parsePage("1\ta\n[Lines 1-1 of 70. Continue with offset=2.]").total).toBe(70);
    expect(parsePage("1\ta\n[Lines 1-1; more follow. Continue with offset=2.]").total).toBeUndefined();
  });

  it("skips lines that it does not understand", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const parse of [parseListing, parsePaths, parseCounts, parseHits, parsePage])
          expect(parse(text)).toBeTypeOf("object");
      }),
    );
  });
});
