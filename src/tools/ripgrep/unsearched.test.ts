import { describe, expect, it } from "vitest";
import { collectUnsearched, parseFileError } from "./unsearched.ts";

describe("ripgrep's messages about files", () => {
  it.each([
    ["rg: ./locked: Permission denied (os error 13)", "locked", "Permission denied"],
    ["rg: ./a/b: IO error for operation on ./a/b: Permission denied (os error 13)", "a/b", "Permission denied"],
    ["rg: ./: IO error for operation on ./: Permission denied (os error 13)", "", "Permission denied"],
    ["rg: ./odd\nname: Permission denied (os error 13)", "odd\nname", "Permission denied"],
    ["rg: ./a: b: IO error for operation on ./a: b: I/O error (os error 5)", "a: b", "I/O error"],
  ])("include %j", (message, path, reason) => {
    expect(parseFileError(message)).toEqual({ path, reason });
  });

  it.each([
    "rg: regex parse error:\n    (?:foo()\n    ^\nerror: unclosed group",
    "rg: unrecognized file type: klingon",
    "rg: error parsing glob '[z-a': invalid range; 'z' > 'a'",
  ])("do not include %j", (message) => {
    expect(parseFileError(message)).toBeUndefined();
  });
});

describe("the note", () => {
  const collect = (...paths: string[]): string => {
    const unsearched = collectUnsearched({
      directory: "/w/src",
      root: "/w",
      hidden: (path) => path === "/w/src/secret",
    });
    for (const path of paths) unsearched.add({ path, reason: "Permission denied" });
    return unsearched.note();
  };

  it("is empty if everything was searched, or if the unsearched paths are hidden", () => {
    expect(collect()).toBe("");
    expect(collect("secret", ".git", "a/.hg")).toBe("");
  });

  it("names paths on one line, whatever they contain", () => {
    expect(collect("b\nc", "a", "")).toBe(
      "\n[Results are incomplete. Could not search: src (Permission denied), src/a (Permission denied), src/b\\nc (Permission denied).]",
    );
  });

  it("names a few paths, regardless of order, and counts the rest", () => {
    const paths = Array.from({ length: 1_500 }, (_, index) => `d${String(1_499 - index).padStart(4, "0")}`);
    expect(collect(...paths)).toBe(
      `\n[Results are incomplete. Could not search: ${["0000", "0001", "0002", "0003", "0004"].map((n) => `src/d${n} (Permission denied)`).join(", ")} and 1,495 more.]`,
    );
  });
});
