import { describe, expect, it } from "vitest";
import { findBlocks } from "./blocks.ts";
import { mismatch } from "./match-output.ts";

describe("documented output", () => {
  it.each([
    ["a\nb", "a\nb\n", "text"],
    ["a …", "a 12 ms\n", "text"],
    ["a\n…\nd", "a\nb\nc\nd", "text"],
    ["…\nb", "a\nb", "text"],
    ["a\n…", "a\nb\nc", "text"],
    ['{"a": 1, "b": {"…": "…"}}', '{"a": 2, "b": {"c": true}}', "json"],
    ['{"a": ["x", "…"]}', '{"a": ["x", "y", "z"]}', "json"],
    ['{"a": "…"}\n…', '{"a": {"b": 1}}\n{"c": 2}', "jsonl"],
  ])("%j matches %j", (shown, printed, language) => {
    expect(mismatch(shown, printed, { language })).toBeUndefined();
  });

  it.each([
    ["a", "b", "text"],
    ["a", "a\nb", "text"],
    ["b", "a\nb", "text"],
    ["b\na", "a\nb", "text"],
    ["a.c", "abc", "text"],
    ['{"a": 1}', '{"a": "1"}', "json"],
    ['{"a": 1}', '{"a": 1, "b": 2}', "json"],
    ['{"a": 1, "b": 2}', '{"a": 1}', "json"],
    ['{"a": ["x"]}', '{"a": ["x", "y"]}', "json"],
    ['{"a": true}', '{"a": false}', "json"],
    ['{"a": null}', '{"a": {}}', "json"],
    ['{"a": "x"}', '{"a": "y"}', "jsonl"],
  ])("%j does not match %j", (shown, printed, language) => {
    expect(mismatch(shown, printed, { language })).toEqual(expect.any(String));
  });

  it("may ignore figures, but nothing else", () => {
    const shown = "reviewer a8qxkrvgkq5qv · 2 turns · 2,393 tokens · $0.0035 · 35 ms";
    const check = (printed: string) => mismatch(shown, printed, { language: "text", figures: true });
    expect(check("reviewer ayc8m7n6755nb · 3 turns · 17 tokens · $1.10 · 1.2 s")).toBeUndefined();
    expect(check("reviewer ayc8m7n6755nb · 3 turns · 17 tokens · 1.2 s")).toEqual(expect.any(String));
    expect(mismatch(shown, shown.replace("35 ms", "36 ms"), { language: "text" })).toEqual(expect.any(String));
  });
});

describe("findBlocks", () => {
  it("reads the comment before a block, and nothing else", () => {
    const page = "x\n<!-- test: exit=3 api=edit -->\n```sh\nretinue\n```\n\n```text\n```\n";
    expect(findBlocks(page)).toMatchObject([
      { language: "sh", text: "retinue", line: 3, directive: { exit: 3, api: "edit", output: false } },
      { language: "text", text: "", line: 7, directive: { exit: 0 } },
    ]);
  });

  it("rejects unknown words and blocks without an end", () => {
    expect(() => findBlocks("<!-- test: exti=3 -->\n```sh\n```")).toThrow("exti");
    expect(() => findBlocks("```sh\nretinue")).toThrow("line 1");
  });
});
