import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeenFiles } from "./seen-files.ts";

describe("createSeenFiles", () => {
  it("considers a file completely seen if the shown parts cover it", () => {
    const part = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 8 }));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const seen = createSeenFiles().of("main");
        const lines = new Set<number>();
        for (const [first, more] of parts) {
          const last = Math.min(first + more, 20);
          seen.lines("/f", { version: "1", first, last, total: 20 });
          for (let line = first; line <= last; line++) lines.add(line);
        }
        expect(seen.knowsWhole("/f")).toBe(lines.size === 20);
      }),
    );
  });

  it("copies another agent's record, after which the two are independent", () => {
    const seen = createSeenFiles();
    seen.of("main").whole("/f", "1");
    seen.inherit("a1", "main");
    seen.of("a1").edited("/f", "2");
    seen.release("main");
    expect(seen.of("a1").versionOf("/f")).toBe("2");
    expect(seen.of("main").versionOf("/f")).toBeUndefined();
    seen.inherit("a2", "nobody");
    expect(seen.of("a2").versionOf("/f")).toBeUndefined();
  });

  it("starts over for a new version of a file, and keeps agents separate", () => {
    const files = createSeenFiles();
    const seen = files.of("main");
    seen.lines("/f", { version: "1", first: 1, last: 5, total: 10 });
    seen.lines("/f", { version: "2", first: 6, last: 10, total: 10 });
    expect(seen.knowsWhole("/f")).toBe(false);
    expect(seen.versionOf("/f")).toBe("2");
    expect(files.of("other").versionOf("/f")).toBeUndefined();
    seen.edited("/f", "3");
    expect([seen.versionOf("/f"), seen.knowsWhole("/f")]).toEqual(["3", false]);
    seen.whole("/f", "4");
    seen.edited("/f", "5");
    expect([seen.versionOf("/f"), seen.knowsWhole("/f")]).toEqual(["5", true]);
    files.release("main");
    expect(files.of("main").versionOf("/f")).toBeUndefined();
  });

  it("forgets the oldest files beyond its limit", () => {
    const seen = createSeenFiles().of("main");
    for (let index = 0; index < 10_001; index++) seen.whole(`/f${index}`, "1");
    expect(seen.versionOf("/f0")).toBeUndefined();
    expect(seen.versionOf("/f10000")).toBe("1");
  });
});
