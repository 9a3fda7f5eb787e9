import { describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../protocol/index.ts";
import { lintAgent } from "./lint-agent.ts";

const good =
  "Execute read-only SQL queries to analyze data. Use when exploring database structure, generating reports, or analyzing data patterns. SELECT only.";

function codes(changes: Partial<AgentDefinition>, body = "You answer questions about the database.") {
  const definition: AgentDefinition = { name: "sql", description: good, source: "user", file: "/a/sql.md", ...changes };
  return lintAgent({ definition, body }).map(({ code }) => code);
}

describe("lintAgent", () => {
  it.each([
    good,
    "Execute read-only database queries. Use when analyzing data, generating reports, or exploring structure. SELECT only; write operations blocked.",
    "Reviews TypeScript changes for security holes. Use proactively after code that handles user input was written. Does not edit.",
    "Finds dead code. Use when cleaning up a module. Edits nothing.",
    "Plans releases. Use for release work on the payment service before a freeze. Never tags.",
  ])("accepts a well-formed description: %s", (description) => {
    expect(codes({ description })).toEqual([]);
  });

  it.each([
    ["Perform database operations", ["no_trigger", "no_scope", "vague_words"]],
    ["Query database. Use when needed.", ["vague_trigger", "no_scope", "vague_words"]],
    ["Database wizard", ["no_action", "no_trigger", "no_scope"]],
    ["Execute database commands. Use for database work.", ["vague_trigger", "no_scope"]],
    ["Reviews code. Use for code-related tasks. Edits nothing.", ["vague_trigger"]],
    ["Helps with various stuff", ["no_trigger", "no_scope", "vague_words"]],
  ])("reports what is missing in: %s", (description, expected) => {
    expect(codes({ description })).toEqual(expected);
  });

  it("measures the frontmatter and the body", () => {
    expect(codes({ description: `${good} ${"More about tables and reports. ".repeat(40)}` })).toEqual([
      "long_frontmatter",
    ]);
    expect(codes({}, "Read the schema first. ".repeat(500))).toEqual(["long_body"]);
    expect(codes({}, " \n")).toEqual(["empty_body"]);
  });

  it("warns about an agent without tools", () => {
    expect(codes({ tools: [] })).toEqual(["no_tools"]);
  });

  it("warns about modes that allow everything", () => {
    expect(codes({ permissionMode: "bypassPermissions" })).toEqual(["unsafe_mode"]);
    expect(codes({ permissionMode: "acceptEdits", background: true })).toEqual(["unsafe_mode"]);
    expect(codes({ permissionMode: "acceptEdits", background: true, tools: ["Read", "Bash(npm test)"] })).toEqual([]);
    expect(codes({ permissionMode: "plan" })).toEqual([]);
  });

  it("compares the turn limit with the usual one for the kind of work", () => {
    const search = "Find definitions of symbols. Use when locating a function by name. Reads only.";
    expect(codes({ description: search, maxTurns: 12 })).toEqual([]);
    expect(codes({ description: search, maxTurns: 60 })).toEqual(["unusual_turns"]);
    expect(codes({ description: search, maxTurns: 6 })).toEqual(["unusual_turns"]);
    expect(codes({ description: search, maxTurns: 6, background: true })).toEqual([]);
    expect(codes({ description: search, maxTurns: 12, background: true })).toEqual([]);
    // Not only the minimum but also the maximum is lower for a background agent, because no one sees it loop.
    expect(codes({ description: search, maxTurns: 15, background: true })).toEqual(["unusual_turns"]);
    expect(codes({ description: search, maxTurns: 4, background: true })).toEqual(["unusual_turns"]);
    const refactor =
      "Refactor modules step by step. Use when splitting a large file. Public API stays, no new dependencies.";
    expect(codes({ description: refactor, maxTurns: 40 })).toEqual([]);
  });
});
