import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { agentFileText, whyNotNew, writeNewAgent } from "./agents.ts";

function createDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "retinue-new-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const reviewer = { name: "reviewer", description: "Reviews changes. Use when code was changed." };

describe("writeNewAgent", () => {
  it("writes to .agents/agents, or to .claude/agents if only that exists", () => {
    const base = createDirectory();
    mkdirSync(join(base, ".claude/agents"), { recursive: true });
    expect(writeNewAgent(reviewer, base)).toBe(join(base, ".claude/agents/reviewer.md"));
    mkdirSync(join(base, ".agents/agents"), { recursive: true });
    const path = writeNewAgent(reviewer, base);
    expect(path).toBe(join(base, ".agents/agents/reviewer.md"));
    expect(readFileSync(path, "utf8")).toContain("description: Reviews changes. Use when code was changed.\n");
  });

  it("never overwrites a file or the target of a link", () => {
    const base = createDirectory();
    const path = writeNewAgent(reviewer, base);
    expect(() => writeNewAgent(reviewer, base)).toThrow("already exists");
    expect(whyNotNew("reviewer", base)).toBe(`${path} already exists. Edit it, or choose another name.`);
    expect(whyNotNew("other", base)).toBeUndefined();
    symlinkSync(join(base, "elsewhere"), join(path, "../linked.md"));
    expect(() => writeNewAgent({ ...reviewer, name: "linked" }, base)).toThrow("already exists");
  });

  it.each(["", "../x", "a/b", ".hidden", "a b", "-x", "x".repeat(65)])("refuses the name %j", (name) => {
    expect(() => writeNewAgent({ ...reviewer, name }, createDirectory())).toThrow("can't be the name");
    expect(whyNotNew(name, createDirectory())).toMatch(/can't be the name of a new agent\. Use letters/);
  });

  it("writes frontmatter that is valid YAML", () => {
    const text = fc.string({ minLength: 1, unit: "grapheme" }).filter((each) => each.trim() !== "");
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 3 }), (description, tools) => {
        const [, head = ""] = agentFileText({ name: "true", description, tools, model: "1" }).split(/^---\n/m);
        const line = (each: string): string => each.replace(/\s+/g, " ").trim();
        const read = tools.length === 0 ? [] : line(tools.join(", "));
        expect(parse(head)).toEqual({ name: "true", description: line(description), tools: read, model: "1" });
      }),
    );
  });
});
