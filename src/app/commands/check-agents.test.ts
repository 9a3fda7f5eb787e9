import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkAgents, lintAgents } from "./check-agents.ts";
import { markdownFiles } from "./markdown-files.ts";

let directory = "";

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "retinue-markdown-"));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const options = () => ({
  cwd: directory,
  home: join(directory, "home"),
  environment: { HOME: directory },
  trust: false,
});
const shown = (given: string) => [...markdownFiles(given)].map(({ file }) => file);

async function check(given: string) {
  const checked = [];
  for await (const each of checkAgents([given])) checked.push(each);
  return checked;
}

describe("an agent's effort", () => {
  const lint = async (fields: string) => {
    const file = join(directory, "worker.md");
    const description = "Finds dead code. Use when exports may be unused. Does not edit files.";
    writeFileSync(file, `---\nname: worker\ndescription: ${description}\n${fields}\n---\nFind dead code.\n`);
    const { findings } = await lintAgents([file], options());
    return findings.filter(({ code }) => code === "effort").map(({ message }) => message);
  };

  it.each([
    ["model: qwen3\neffort: high", /unknown whether the model qwen3 supports effort/],
    ["model: claude-haiku-4-5\neffort: high", /claude-haiku-4-5 does not support effort/],
    ["model: anthropic/claude-opus-4-5\neffort: max", /does not support effort "max"; using "high" instead/],
  ])("is linted if the model is named: %j", async (fields, message) => {
    expect(await lint(fields)).toEqual([expect.stringMatching(message)]);
  });

  it.each([
    "model: claude-opus-4-5\neffort: high",
    "model: haiku\neffort: max",
    "model: inherit\neffort: max",
    "effort: max",
  ])("is not linted: %j", async (fields) => {
    expect(await lint(fields)).toEqual([]);
  });
});

it.each([
  ["opuss", ['Did you mean "opus"?']],
  ["inherit", []],
  ["claude-opus-9", []],
  ["local/opuss", []],
])("a misspelled model is reported: %s", async (model, fixes) => {
  const file = join(directory, "worker.md");
  writeFileSync(file, `---\nname: worker\ndescription: Finds dead code.\nmodel: ${model}\n---\nFind dead code.\n`);
  const [{ diagnostics } = { diagnostics: [] }] = await check(file);
  expect(diagnostics.filter(({ code }) => code === "unknown_model").map(({ fix }) => fix)).toEqual(fixes);
});

it.each([
  ["claude-3-5-haiku-latest", "retired_model", 'Use "small".'],
  ["anthropic/claude-sonnet-4-20250514", "retired_model", 'Use "medium".'],
  ["opusplan", "model_alias", undefined],
])("a model that is retired or means something else elsewhere is reported: %s", async (model, code, fix) => {
  const file = join(directory, "worker.md");
  writeFileSync(file, `---\nname: worker\ndescription: Finds dead code.\nmodel: ${model}\n---\nFind dead code.\n`);
  const [{ diagnostics } = { diagnostics: [] }] = await check(file);
  expect(diagnostics.map((each) => [each.severity, each.code, each.fix])).toEqual([["warning", code, fix]]);
});

it("a file that has the name of a built-in agent is noticed, even if it is not loaded", async () => {
  const file = join(directory, "explore.md");
  writeFileSync(file, "---\nname: explore\ndescription: Finds dead code.\n---\nFind dead code.\n");
  expect((await lintAgents([file], options())).findings).toContainEqual(
    expect.objectContaining({ severity: "notice", code: "shadows", message: expect.stringContaining('"Explore"') }),
  );
});

it("an agent's hooks and MCP servers are checked, with the line of their field", async () => {
  const file = join(directory, "worker.md");
  const hooks = [
    "hooks:",
    "  PreToolUse:",
    "    - { matcher: Bsah, command: ./a.sh }",
    '    - { matcher: "Edit[", command: ./b.sh }',
    "  SubagentStop:",
    "    - { matcher: reviewer, command: ./c.sh }",
  ];
  const servers = ["mcpServers:", "  - db: { comand: npx }", "  - ok: { command: npx }", "  - configured"];
  const fields = ["name: worker", "description: Finds dead code.", ...hooks, ...servers].join("\n");
  writeFileSync(file, `---\n${fields}\n---\nFind dead code.\n`);
  const about = ({ code }: { code: string }) => code === "hook_matcher" || code === "mcp_server";
  const [checked] = await check(file);
  const findings = checked?.diagnostics.filter(about);
  expect(findings).toMatchObject([
    { severity: "warning", line: 4, message: expect.stringContaining('names "Bsah"'), fix: "Did you mean Bash?" },
    { line: 4, message: expect.stringContaining('("Edit[") is not a valid regular expression') },
    { line: 4, message: expect.stringContaining('names "reviewer"'), fix: expect.stringContaining('Use "worker"') },
    {
      line: 10,
      message: expect.stringContaining('"db" can\'t be used'),
      fix: expect.stringContaining("configuration"),
    },
  ]);
  expect((await lintAgents([file], options())).findings.filter(about)).toEqual(findings);
});

describe("markdownFiles", () => {
  it("lists Markdown files in a stable order, without third-party files", async () => {
    for (const folder of ["b", "node_modules", ".git", "c.md"]) mkdirSync(join(directory, folder));
    for (const file of ["z.md", "a.MARKDOWN", "b/x.md", "node_modules/n.md", ".git/g.md", "c.md/y.md", "t.txt"])
      writeFileSync(join(directory, file), "text");
    symlinkSync("z.md", join(directory, "link.md"));
    symlinkSync("b", join(directory, "linked"));
    symlinkSync("gone.md", join(directory, "dangling.md"));
    symlinkSync("loop.md", join(directory, "loop.md"));
    symlinkSync(process.execPath, join(directory, "outside.md"));
    symlinkSync("..", join(directory, "b/up"));
    symlinkSync(tmpdir(), join(directory, "b/away"));
    execFileSync("mkfifo", [join(directory, "pipe.md")]);
    const own = ["a.MARKDOWN", "b/x.md", "c.md/y.md"];
    const others = ["dangling.md", "link.md", "linked/x.md", "loop.md", "outside.md", "pipe.md", "z.md"];
    expect(shown(directory)).toEqual([...own, ...others]);
    const codes = (await check(directory)).map(({ file, diagnostics }) => [file, diagnostics.map(({ code }) => code)]);
    expect(Object.fromEntries(codes)).toMatchObject({
      "dangling.md": ["link_broken"],
      "link.md": ["no_frontmatter"],
      "linked/x.md": ["no_frontmatter"],
      "loop.md": ["link_broken"],
      "outside.md": ["link_outside"],
      "pipe.md": ["unreadable"],
    });
  });

  it("reports a directory that can't be listed, and continues", async () => {
    const nested = (count: number) => Array.from({ length: count }, () => "d".repeat(240)).join("/");
    const [root, lower] = [join(directory, "root"), join(directory, "lower")];
    mkdirSync(join(root, nested(9)), { recursive: true });
    mkdirSync(join(lower, nested(9)), { recursive: true });
    writeFileSync(join(root, "z.md"), "---\nname: z\ndescription: Does z.\n---\n");
    // The whole path would be too long for the system, so one half is created elsewhere and moved into the other.
    renameSync(lower, join(root, nested(9), "lower"));
    const checked = await check(root);
    renameSync(join(root, nested(9), "lower"), lower);
    expect(checked.map(({ loaded, failed }) => [loaded, failed])).toEqual([
      [false, true],
      [true, false],
    ]);
    expect(checked[0]?.file.startsWith(`${nested(9)}/lower/`)).toBe(true);
    expect(checked[0]?.diagnostics).toMatchObject([{ severity: "error", line: 1, code: "unreadable" }]);
  });

  it("reports every skill that does not load", async () => {
    for (const folder of ["a", "b/SKILL.md"]) mkdirSync(join(directory, folder), { recursive: true });
    writeFileSync(join(directory, "a/SKILL.md"), "No frontmatter.\n");
    const checked = (await check(directory)).map(({ file, kind, failed, diagnostics }) => [
      [file, kind, failed],
      diagnostics.map(({ code }) => code),
    ]);
    expect(checked).toEqual([
      [["a/SKILL.md", "skill", true], ["no_frontmatter"]],
      [["b/SKILL.md", "skill", true], ["unreadable"]],
    ]);
  });

  it("refuses a named file that does not exist or can't be read", () => {
    symlinkSync("round.md", join(directory, "round.md"));
    expect(() => shown(join(directory, "none.md"))).toThrow(/does not exist/);
    expect(() => shown(join(directory, "round.md"))).toThrow(/can't be read/);
  });
});

describe("a pipe", () => {
  beforeEach(() => {
    execFileSync("mkfifo", [join(directory, "pipe.md")]);
    writeFileSync(join(directory, "good.md"), "---\ndescription: Helps. Use when asked.\n---\nHelp.\n");
    symlinkSync("pipe.md", join(directory, "link.md"));
  });

  it.each(["pipe.md", "link.md"])("is checked and linted without blocking: %s", async (name) => {
    const file = join(directory, name);
    expect(await check(file)).toMatchObject([{ loaded: false, diagnostics: [{ code: "unreadable", line: 1 }] }]);
    const { findings } = await lintAgents([file], options());
    expect(findings).toMatchObject([
      { severity: "error", code: "unreadable", message: expect.stringContaining("not a regular file") },
    ]);
  });

  it("does not prevent other files from being checked", async () => {
    expect((await check(directory)).map(({ file, loaded }) => [file, loaded])).toEqual([
      ["good.md", true],
      ["link.md", false],
      ["pipe.md", false],
    ]);
  });
});
