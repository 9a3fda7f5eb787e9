import { describe, expect, it } from "vitest";
import { checkMarkdownFile } from "./check-markdown-file.ts";
import { readSkillFile } from "./read-skill.ts";

const file = "/project/.agents/skills/release-notes/SKILL.md";

async function read(frontmatter: string) {
  const bytes = Buffer.from(`---\n${frontmatter}\n---\nSteps.\n`);
  return readSkillFile({ bytes, file, source: "project" });
}

describe("readSkillFile", () => {
  it("names a skill after its directory", async () => {
    const { definition, body, diagnostics } = await read("description: Writes release notes.");
    expect(definition).toEqual({
      name: "release-notes",
      description: "Writes release notes.",
      source: "project",
      file,
      modelInvocable: true,
    });
    expect(body()).toBe("Steps.\n");
    expect(diagnostics).toEqual([]);
  });

  it.each([
    ["allowed-tools: Read, Bash(git log *)", ["Read", "Bash(git log *)"]],
    ["allowed-tools: Read Bash(git log *) Grep", ["Read", "Bash(git log *)", "Grep"]],
    ["allowed_tools: [Read]", ["Read"]],
    ["tools: Read", ["Read"]],
  ])("reads %s", async (line, expected) => {
    expect((await read(`description: d\n${line}`)).definition?.allowedTools).toEqual(expected);
  });

  it("keeps fields of the open format silently, and reports unknown ones", async () => {
    const { definition, diagnostics } = await read("description: d\nlicense: MIT\nargument-hint: version\nvibe: calm");
    expect(definition?.extra).toEqual({ license: "MIT", argumentHint: "version", vibe: "calm" });
    expect(diagnostics).toMatchObject([{ code: "unknown_field", severity: "notice" }]);
    for (const field of ["allowed-tolls: Read", "disable-model-invokation: true"]) {
      const bytes = Buffer.from(`---\nname: s\ndescription: d\n${field}\n---\nHi.\n`);
      const refused = await readSkillFile({ bytes, file: "/s/SKILL.md", source: "project" });
      expect(refused.definition).toBeUndefined();
      expect(refused.diagnostics).toMatchObject([
        {
          code: "misspelled_field",
          severity: "error",
          line: 4,
          message: expect.stringContaining("The skill is not loaded"),
        },
      ]);
    }
  });

  it.each(["disallowed-tools: Write", "context: inline", "agent: Explore", "model: opus", "hooks: {}", "shell: bash"])(
    "loads the file, and reports that %s has no effect",
    async (line) => {
      const { definition, diagnostics } = await read(`description: d\n${line}`);
      expect(definition).toBeDefined();
      expect(diagnostics).toMatchObject([{ code: "unused_field", severity: "notice", line: 3 }]);
    },
  );

  it.each([
    ["context: fork", { agent: "general-purpose" }],
    ["context: FORK\nagent: Explore\nmodel: haiku", { agent: "Explore", model: "haiku" }],
  ])("reads a skill that runs as a subagent: %j", async (lines, fork) => {
    const { definition, diagnostics } = await read(`description: d\n${lines}`);
    expect(definition?.fork).toEqual(fork);
    expect(diagnostics).toEqual([]);
  });

  it("reports fields without effect for a skill that runs as a subagent", async () => {
    const { diagnostics } = await read("description: d\ncontext: fork\nhooks: {}");
    expect(diagnostics).toMatchObject([{ code: "unused_field", message: expect.stringContaining("general-purpose") }]);
  });

  it("hides a skill from the model if its author disables invocation, even with an invalid value", async () => {
    expect((await read("description: d\ndisable-model-invocation: true")).definition?.modelInvocable).toBe(false);
    expect((await read("description: d\ndisable-model-invocation: false")).definition?.modelInvocable).toBe(true);
    expect((await read("description: d\ndisable-model-invocation: 7")).definition?.modelInvocable).toBe(false);
  });

  it.each([
    ["name: x", "no_description"],
    ["description: d\nallowed-tools: {a: b}", "unreadable_tools"],
    ['description: d\nname: "a\\u0007"', "bad_name"],
  ])("does not load %j", async (frontmatter, code) => {
    const { definition, diagnostics } = await read(frontmatter);
    expect(definition).toBeUndefined();
    expect(diagnostics).toMatchObject([{ severity: "error", code, file }]);
  });
});

describe("checkMarkdownFile", () => {
  it("distinguishes skills from agents by file name, and returns tools and model as written", async () => {
    const bytes = Buffer.from("---\nname: n\ndescription: d\ntools: *\nmodel: [big, small]\n---\n");
    const agent = await checkMarkdownFile({ bytes, file: "/a/n.md", source: "project" });
    expect(agent).toMatchObject({
      kind: "agent",
      loaded: true,
      name: "n",
      tools: ["*"],
      disallowedTools: null,
      model: ["big", "small"],
    });
    expect(await checkMarkdownFile({ bytes, file, source: "project" })).toMatchObject({ kind: "skill", loaded: true });
    const text = await checkMarkdownFile({ bytes: Buffer.from("# Notes\n"), file: "/a/README.md", source: "project" });
    expect(text).toMatchObject({
      kind: "agent",
      loaded: false,
      name: null,
      diagnostics: [{ code: "no_frontmatter", line: 1 }],
    });
  });
});
