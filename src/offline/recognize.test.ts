import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recognize } from "./recognize.ts";

describe("recognize", () => {
  it.each([
    "Map this repository",
    "map this repo.",
    "Please give me an overview!",
    "overview",
    "What is this project?",
    "what's this project about",
    "explore the codebase",
    "Describe the structure of this repository",
    "Can you tell me what this repository does?",
    "how is this project organised?",
    "write an overview of this project",
    "What is this?",
  ])("maps the workspace: %s", (text) => {
    expect(recognize(text)).toEqual({ kind: "map", path: "." });
  });

  it.each(["Map src/lib", "explore src/lib/", "overview of `src/lib`, please"])("maps a part: %s", (text) => {
    expect(recognize(text)).toMatchObject({ path: "src/lib" });
  });

  it.each([
    "where is createExecutor defined",
    "Where is the function `createExecutor` defined?",
    "find usages of createExecutor",
    "Who calls createExecutor()?",
    "find createExecutor",
    "find the definition of createExecutor",
    "where is createExecutor defined and used?",
    "where do we use createExecutor",
    "show me where createExecutor is used",
    "which files import createExecutor",
    "how is createExecutor used",
    "what is createExecutor?",
    "WHERE IS createExecutor USED",
  ])("finds a name: %s", (text) => {
    expect(recognize(text)).toEqual({ kind: "find", symbol: "createExecutor", path: "." });
  });

  it("recognizes the current directory", () => {
    expect(recognize("List files in .")).toMatchObject({ path: "." });
  });

  it("finds a name in a directory", () => {
    expect(recognize("find all references to Thread in src/app")).toEqual({
      kind: "find",
      symbol: "Thread",
      path: "src/app",
    });
  });

  it.each([
    ["summarise src/x.ts", "src/x.ts"],
    ["Summarize the file README.md", "README.md"],
    ["what does src/lib/ do?", "src/lib"],
    ["explain package.json", "package.json"],
    ["summarise the lib directory", "lib"],
    ["what does the executor room do", "executor"],
    ["summarize src/history.ts", "src/history.ts"],
  ])("summarizes: %s", (text, path) => {
    expect(recognize(text)).toEqual({ kind: "summarize", path });
  });

  it.each([
    ["recent changes", ".", 20],
    ["What changed?", ".", 20],
    ["git history", ".", 20],
    ["show me the last 5 commits", ".", 5],
    ["List and explain recent git history", ".", 20],
    ["what changed in src/lib recently", "src/lib", 20],
  ])("reports the history: %s", (text, path, commits) => {
    expect(recognize(text)).toEqual({ kind: "history", path, commits });
  });

  it.each([
    ["list files", { kind: "list", path: "." }],
    ["ls src", { kind: "list", path: "src" }],
    ["list files in src/lib", { kind: "list", path: "src/lib" }],
    ["list *.md files", { kind: "list", path: ".", pattern: "*.md" }],
    ["read README.md", { kind: "read", path: "README.md" }],
    ["show src/lib/text.ts", { kind: "read", path: "src/lib/text.ts" }],
    ['search for "foo bar" in src', { kind: "search", text: "foo bar", path: "src" }],
    ["search for timeout", { kind: "search", text: "timeout", path: "." }],
    ["find TODOs", { kind: "search", text: "TODO", path: "." }],
  ])("recognizes a direct request: %s", (text, request) => {
    expect(recognize(text)).toEqual(request);
  });

  it.each([
    "",
    "   ",
    "hello",
    "write me a poem",
    "fix the bug",
    "refactor src/lib",
    "find the bug and fix it",
    "Summarize src/lib and then write a test",
    "what is the meaning of life",
    "why is the sky blue",
    "translate README.md to German",
    "run the tests",
    `map this repository ${"x".repeat(2_000)}`,
  ])("does not recognize: %s", (text) => {
    expect(recognize(text)).toEqual({ kind: "unknown" });
  });

  it("handles any text quickly", () => {
    const word = fc.constantFrom(
      "find",
      "the",
      "where",
      "is",
      "in",
      "a.b",
      "`x",
      "'",
      '"',
      "src/",
      "map",
      "of",
      "?",
      "*",
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(word, { maxLength: 150 }).map((words) => words.join(" ")),
    );
    fc.assert(
      fc.property(text, (request) => {
        expect(recognize(request).kind).toMatch(/^\w+$/);
      }),
    );
  });
});
