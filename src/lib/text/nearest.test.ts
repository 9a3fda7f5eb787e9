import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { misspelledName, nearest } from "./nearest.ts";

const tools = ["Read", "Write", "Edit", "Bash", "BashOutput", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "Task"];

describe("nearest", () => {
  it.each([
    ["Grpe", "Grep"],
    ["read", "Read"],
    ["Reed", "Read"],
    ["wirte", "Write"],
    ["webfetch", "WebFetch"],
    ["Web-Fetch", "WebFetch"],
    ["bash_out", "BashOutput"],
    ["Bas", "Bash"],
    ["Fetch", "WebFetch"],
  ])("for %s, suggests %s", (word, expected) => {
    expect(nearest(word, tools)).toEqual([expected]);
  });

  it.each(["Kubernetes", "zzz", "", "  ", "x"])("suggests nothing for %j", (word) => {
    expect(nearest(word, tools, 3)).toEqual([]);
  });

  it("returns several candidates, best first, without duplicates", () => {
    expect(nearest("Web", [...tools, "WebFetch"], 3)).toEqual(["WebFetch", "WebSearch"]);
    expect(nearest("file", ["old", "file_path", "profile"], 5)).toEqual(["file_path", "profile"]);
  });

  it("prefers a candidate of the same length if both are equally near", () => {
    expect(nearest("modle", ["mode", "model"])).toEqual(["model"]);
  });

  it("returns an exact match alone, and finds a word from which a letter is missing", () => {
    fc.assert(
      fc.property(fc.constantFrom(...tools.filter((tool) => tool.length > 3)), fc.nat(), (tool, random) => {
        expect(nearest(tool, tools)).toEqual([tool]);
        const position = 1 + (random % (tool.length - 1));
        const slipped = tool.slice(0, position) + tool.slice(position + 1);
        expect(nearest(slipped, tools, 2)).toContain(tool);
      }),
    );
  });

  it("stays fast for very long words", () => {
    expect(nearest("x".repeat(1_000_000), ["y".repeat(1_000_000)])).toEqual([]);
  });
});

describe("misspelledName", () => {
  const names = ["tools", "maxTurns", "permissionMode", "bypassPermissions"];

  it.each([
    ["tool", "tools"],
    ["toosl", "tools"],
    ["max_turn", "maxTurns"],
    ["permision-mod", "permissionMode"],
    ["bypassPermision", "bypassPermissions"],
  ])("recognizes %s as a misspelling of %s", (word, name) => {
    expect(misspelledName(word, names)).toBe(name);
  });

  it.each(["", "toolset", "bypass", "permissions", "maxItems"])("does not treat %j as a misspelling", (word) => {
    expect(misspelledName(word, names)).toBeUndefined();
  });
});
