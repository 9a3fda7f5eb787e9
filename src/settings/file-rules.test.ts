import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePathPattern } from "../permissions/rules/path-pattern.ts";
import type { Effect } from "../protocol/index.ts";
import { anchorRule, lineOf } from "./file-rules.ts";

const above = (effect: Effect) => ({ effect, directory: "/r" });

describe("anchorRule", () => {
  it.each<[string, Effect, string]>([
    ["Read(.env)", "deny", "Read(//r/**/.env)"],
    ["Read(secrets/**)", "deny", "Read(//r/**/secrets/**)"],
    ["Edit(src/**)", "allow", "Edit(//r/src/**)"],
    ["Edit(/src/a.ts)", "ask", "Edit(//r/src/a.ts)"],
    ["read_file(./a)", "deny", "read_file(//r/./a)"],
    ["Read(a/)", "deny", "Read(//r/**/a/**)"],
  ])("%s (%s) becomes %s", (text, effect, expected) => {
    expect(anchorRule(text, above(effect))).toBe(expected);
  });

  it.each([
    "Read",
    "Read(//etc/**)",
    "Read(~/.ssh/**)",
    "Bash(git diff ./a)",
    "WebFetch(domain:a.b)",
    "Task(Explore)",
    "Read()",
  ])("%s stays unchanged", (text) => {
    expect(anchorRule(text, above("deny"))).toBe(text);
  });

  it("gives a rule the same meaning in the workspace as in the directory of its file", () => {
    const name = fc.constantFrom("a", "b", "ab", ".env", "*", "**", "*.ts", "a*", "..");
    const pattern = fc
      .tuple(
        fc.constantFrom("", "/", "./", "../"),
        fc.array(name, { minLength: 1, maxLength: 3 }),
        fc.constantFrom("", "/"),
      )
      .map(([start, names, end]) => start + names.join("/") + end);
    const directory = fc.constantFrom("/r", "/r/a*", "/r/[b]", "/r/a b");
    const path = fc
      .tuple(directory, fc.array(fc.constantFrom("a", "b", "ab", ".env", "x.ts"), { maxLength: 4 }))
      .map(([base, names]) => [base, ...names].join("/"));
    fc.assert(
      fc.property(pattern, directory, path, fc.boolean(), (text, root, file, wide) => {
        const homes: string[] = [];
        const anchored = anchorRule(`Read(${text})`, { effect: wide ? "deny" : "allow", directory: root }).slice(5, -1);
        const there = compilePathPattern(text, { roots: [root], homes, wide });
        const here = compilePathPattern(anchored, { roots: [`${root}/b`], homes, wide });
        expect(here(file)).toBe(there(file));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("lineOf", () => {
  const text = `{ "subagents": { "model": "a" },
    // "model": 1
    "agents": { "model": { "tools": "x" } },
    "model": "a",
    "tools": ["b",
      "model"],
    "hooks": { "Stop": [{ "matcher": "a", "command": "x" },
      { "matcher": "b", "command": "x" }] },
    "model": "b" }`;

  it.each([
    [["model"], 9],
    [["subagents", "model"], 1],
    [["agents", "model", "tools"], 3],
    [["tools", "model"], 6],
    [["tools", "none"], 5],
    [["hooks", "Stop", "matcher"], 7],
    [["hooks", "Stop", "matcher", "b"], 8],
    [["none"], 1],
  ])("finds %j in line %i", (path, line) => {
    expect(lineOf(text, path)).toBe(line);
  });
});
