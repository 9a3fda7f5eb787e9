import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPlace, jsonLines, type Place, retinue, serve } from "./command-line.ts";

function write({ cwd }: Place, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
}

const reviewer = `---
name: reviewer
description: Reviews changes. Use when code was changed.
tools: Read, Bash(git diff *, git log *)
model: small
---
Review.
`;
const noDescription = "---\nname: silent\n---\nWork.\n";

describe("retinue agents check", () => {
  it("reports every Markdown file below a directory, on one line each", async () => {
    const place = createPlace();
    write(place, {
      "files/b/reviewer.md": reviewer,
      "files/a.md": noDescription,
      "files/pdf/SKILL.md": "---\ndescription: Reads PDF.\n---\n",
      "files/README.md": "# Agents\n",
      "files/notes.txt": reviewer,
      "files/node_modules/x/agent.md": reviewer,
      "../elsewhere/outside.md": reviewer,
    });
    symlinkSync(join(place.cwd, "../elsewhere"), join(place.cwd, "files/linked"));
    const run = await retinue(["agents", "check", "--jsonl", "files/"], place);
    expect(run.code).toBe(1);
    const lines = jsonLines(run);
    expect(lines.map(({ file }) => file)).toEqual(["README.md", "a.md", "b/reviewer.md", "pdf/SKILL.md"]);
    expect(lines[0]).toMatchObject({
      kind: "agent",
      loaded: false,
      diagnostics: [{ line: 1, code: "no_frontmatter" }],
    });
    expect(lines[1]).toMatchObject({ loaded: false, diagnostics: [{ code: "no_description" }] });
    expect(lines[2]).toEqual({
      file: "b/reviewer.md",
      kind: "agent",
      loaded: true,
      name: "reviewer",
      description: "Reviews changes. Use when code was changed.",
      tools: ["Read", "Bash(git diff *, git log *)"],
      disallowedTools: null,
      model: "small",
      diagnostics: [],
    });
    expect(lines[3]).toMatchObject({ kind: "skill", loaded: true, name: "pdf" });
  });

  it("reports duplicate names, unknown tools and agents in settings, with usable paths", async () => {
    const place = createPlace();
    write(place, {
      ".git/HEAD": "ref: refs/heads/main\n",
      ".agents/agents/a.md": reviewer,
      ".agents/agents/team/b.md": reviewer.replace("tools: Read", "tools: Reed"),
      "../.agents/agents/mine.md": noDescription,
      "../home/settings.json":
        '{\n  "agents": {\n    "bare": { "prompt": "Work." },\n    "idle": { "description": "d" }\n  }\n}\n',
    });
    const { stdout, code } = await retinue(["agents", "check"], place);
    expect(code).toBe(1);
    expect(stdout.split("\n").filter((line) => !line.startsWith("  "))).toEqual([
      expect.stringMatching(/^\.agents\/agents\/team\/b\.md:4: warning: "tools" names "Reed".*\[unknown_tool\]$/),
      expect.stringMatching(
        /^\.agents\/agents\/team\/b\.md:1: warning: \.agents\/agents\/a\.md also defines the agent "reviewer"\..*\[duplicate_name\]$/,
      ),
      expect.stringMatching(/^~\/\.agents\/agents\/mine\.md:2: error: .*\[no_description\]$/),
      expect.stringMatching(
        /^~\/home\/settings\.json:3: error: agents\.bare: .* no description, .*\[no_description\]$/,
      ),
      expect.stringMatching(/^~\/home\/settings\.json:4: warning: agents\.idle: There is no "prompt".*\[no_prompt\]$/),
      "3 agents and 0 skills load. 2 agents do not.",
      "",
    ]);
    const run = await retinue(["-p", "Map this repository"], place);
    expect(run.stderr).toMatch(/settings\.json:3: agents\.bare: The agent has no description/);
    expect(run.stderr).toMatch(/settings\.json:4: agents\.idle: There is no "prompt"/);
  });

  it("tolerates other text files in an agents directory, but not if the command names one of them", async () => {
    const place = createPlace();
    write(place, { ".claude/agents/reviewer.md": reviewer, ".claude/agents/README.md": "# Agents\n" });
    expect(await retinue(["agents", "check"], place)).toMatchObject({
      code: 0,
      stdout: "1 agent and 0 skills load. 1 other file defines nothing.\n",
    });
    const named = await retinue(["agents", "check", ".claude/agents/README.md"], place);
    expect(named.code).toBe(1);
    expect(named.stdout).toMatch(/^\.claude\/agents\/README\.md:1: error: .* \[no_frontmatter\]\n {2}→ /);
  });

  it("lists files that are not agents, and counts files that don't load in the same way as other commands", async () => {
    const place = createPlace();
    write(place, {
      ".agents/agents/reviewer.md": reviewer,
      ".agents/agents/README.md": "# Agents\n",
      ".agents/agents/notes.md": "You review changes.\n",
      ".agents/agents/open.md": reviewer.replace("---\n", ""),
      ".agents/agents/silent.md": noDescription,
      ".claude/agents/unread.md": noDescription,
    });
    const checked = await retinue(["agents", "check"], place);
    expect(checked.code).toBe(1);
    expect(checked.stdout.split("\n").filter((line) => !line.startsWith("  "))).toEqual([
      expect.stringMatching(/notes\.md:1: warning: The file has no frontmatter, so it is not an agent\. /),
      expect.stringMatching(/open\.md:1: error: The "---" line before the first field is missing/),
      expect.stringMatching(/silent\.md:2: error: /),
      expect.stringMatching(/unread\.md:2: error: /),
      expect.stringMatching(/unread\.md:1: notice: This file is not read, because .* takes precedence/),
      "1 agent and 0 skills load. 2 agents do not. 3 other files define nothing.",
      "",
    ]);
    const unloaded = /2 agents do not load: \S+open\.md, \S+silent\.md(\. Run|\n *→ Run) "retinue agents check"/;
    expect((await retinue(["trust", "add"], place)).stderr).toMatch(unloaded);
    expect((await retinue(["doctor"], place)).stdout).toMatch(unloaded);
    expect((await retinue(["--agent", "nobody", "-p", "Hi"], place)).stderr).toMatch(unloaded);
    const listed = await retinue(["agents", "list"], place);
    expect(listed.stdout).toMatch(/notes\.md:1: warning: The file has no frontmatter/);
    expect(listed.stdout).not.toContain("README.md");
    const { stderr } = await retinue(["-p", "Map this repository"], place);
    expect(stderr).toContain('open.md:1: The "---" line');
    expect(stderr).not.toMatch(/notes|README/);
  });

  it("treats .markdown files and invalid agents in settings in the same way as a run", async () => {
    const place = createPlace();
    write(place, { ".agents/agents/reviewer.markdown": reviewer });
    expect((await retinue(["agents", "check"], place)).stdout).toBe("1 agent and 0 skills load.\n");
    expect((await retinue(["agents", "show", "reviewer", "--trust"], place)).code).toBe(0);
    write(place, { "../home/settings.json": '{\n  "agents": { "x": "text" }\n}\n' });
    const { code, stdout } = await retinue(["agents", "check"], place);
    expect(code).toBe(1);
    expect(stdout).toMatch(/settings\.json:2: error: agents\.x must be a definition.* \[invalid_settings\]/);
    expect(stdout).toContain("1 agent and 0 skills load. 1 agent does not.");
  });

  it("reports an effort that the model may not support", async () => {
    const place = createPlace();
    write(place, {
      ".agents/agents/a.md": reviewer.replace("---\n", "---\neffort: max\n").replace(/model: .*/, "model: gpt-unknown"),
    });
    expect((await retinue(["agents", "check"], place)).stdout).toMatch(/a\.md:1: warning: .*\[effort\]/);
  });

  it("names a missing path", async () => {
    const run = await retinue(["agents", "check", "nowhere"], createPlace());
    expect(run).toMatchObject({ code: 2 });
    expect(run.stderr).toContain("nowhere does not exist");
  });
});

interface Listed {
  readonly agents: readonly {
    readonly name: string;
    readonly source: string;
    readonly overrides: readonly unknown[];
  }[];
  readonly off: readonly string[];
  readonly diagnostics: readonly { readonly code: string }[];
}

async function listed(place: Place, ...words: readonly string[]): Promise<Listed> {
  return JSON.parse((await retinue(["agents", "list", "--json", ...words], place)).stdout) as Listed;
}

describe("retinue agents list", () => {
  it("contains the built-in agents, and nothing from an untrusted project", async () => {
    const place = createPlace();
    write(place, { ".claude/agents/reviewer.md": reviewer });
    const { agents, off } = await listed(place);
    expect(agents.map(({ name }) => name)).toContain("Explore");
    expect(agents.map(({ name }) => name)).not.toContain("reviewer");
    expect(off).toEqual([".claude/agents"]);
    expect((await retinue(["agents"], place)).stdout).toContain(
      "This directory is not trusted, so Retinue ignores .claude/agents. Add --trust",
    );
  });

  it("contains the project's agents with --trust: their cost, what they override, and how to see their problems", async () => {
    const place = createPlace();
    write(place, {
      ".claude/agents/reviewer.md": reviewer,
      ".claude/agents/plan.md": reviewer.replace("reviewer", "Plan"),
      ".claude/agents/silent.md": noDescription,
    });
    const { agents, diagnostics } = await listed(place, "--trust");
    expect(agents).toContainEqual(
      expect.objectContaining({
        name: "Plan",
        source: "project",
        file: join(place.cwd, ".claude/agents/plan.md"),
        model: "small",
        tools: ["Read", "Bash(git diff *, git log *)"],
        tokens: expect.any(Number),
        overrides: [{ source: "built-in", reason: expect.stringContaining("takes precedence") }],
      }),
    );
    expect(diagnostics).toMatchObject([{ code: "no_description" }]);
    const table = (await retinue(["agents", "list", "--trust"], place)).stdout;
    expect(table).toMatch(/^reviewer +project +small +\d+ +Read, Bash +Reviews changes/m);
    expect(table).toContain('1 error in files. For details, run "retinue agents check".');
    expect(table).toContain("Plan (project) overrides the built-in agent: ");
  });

  it("contains an enabled plugin's agents under their full names, without rights that they can't have", async () => {
    const place = createPlace();
    write(place, {
      "kit/.claude-plugin/plugin.json": '{"name": "kit", "lspServers": {}}',
      "kit/agents/reviewer.md": reviewer.replace("model: small", "model: small\npermissionMode: acceptEdits"),
    });
    await retinue(["plugins", "add", "kit"], place);
    expect((await listed(place)).agents.map(({ source }) => source)).not.toContain("plugin");
    await retinue(["plugins", "enable", "kit", "--yes"], place);
    const { agents, diagnostics } = await listed(place);
    expect(agents).toContainEqual(expect.objectContaining({ name: "kit:reviewer", source: "plugin", plugin: "kit" }));
    expect(diagnostics).toMatchObject([{ code: "unsupported_parts" }, { code: "ignored_in_plugin" }]);
    const { stdout } = await retinue(["agents", "list"], place);
    expect(stdout).toContain("[ignored_in_plugin]");
    expect(stdout).not.toContain("in files. For details");
  });
});

describe("retinue agents list, with settings", () => {
  it("shows which built-in agents are disabled and why, and which agents are hidden", async () => {
    const place = createPlace();
    mkdirSync(place.home);
    const file = join(place.home, "settings.json");
    writeFileSync(
      file,
      JSON.stringify({ agents: { Explore: false, mine: { description: "Mine.", prompt: "Work." } } }),
    );
    write(place, { ".agents/agents/quiet.md": reviewer.replace("name: reviewer", "name: quiet\nhidden: true") });
    const table = (await retinue(["agents", "list", "--trust"], place)).stdout;
    expect(table).not.toMatch(/^Explore +built-in/m);
    expect(table).toContain(`Explore is disabled: ${file} sets "agents": {"Explore": false}.`);
    expect(table).toMatch(/^mine +user /m);
    expect(table).toMatch(/^quiet +project +small +0 /m);
    expect(table).toContain("quiet is hidden: it is not in that list, but can be used by name.");
    for (const words of [
      ["agents", "show", "Explore"],
      ["agents", "lint", "Explore"],
      ["-p", "x", "--agent", "Explore"],
    ]) {
      const run = await retinue(words, place);
      expect(run.code).toBe(2);
      expect(run.stderr).toContain(`"Explore" is switched off. ${file} sets "agents": {"Explore": false}.`);
    }
  });

  it("reports problems that can't be found by checking single files: clashes, and problems in settings", async () => {
    const place = createPlace();
    mkdirSync(place.home);
    const file = join(place.home, "settings.json");
    const given = { reviewer: { description: "Reviews.", prompt: "Review." }, mute: { prompt: "Work." }, gone: false };
    writeFileSync(file, JSON.stringify({ agents: given }));
    const home = { ...place, cwd: join(place.home, "..") };
    write(home, { ".agents/agents/reviewer.md": reviewer, ".agents/agents/silent.md": noDescription });
    const { stdout } = await retinue(["agents", "list"], place);
    expect(stdout).toContain(`${file}:1: warning: The agent "reviewer" is defined twice in the user scope`);
    expect(stdout).toMatch(/settings\.json:1: error: agents\.mute: .* \[no_description\]/);
    expect(stdout).toMatch(/settings\.json:1: warning: .*"gone".* \[switched_nothing_off\]\n {2}→ .*Task\(gone\)/);
    expect(stdout).toMatch(/^1 error in files\. For details, run "retinue agents check"\.$/m);
  });

  it("reports a misspelled agent in the settings, also in runs and in doctor", async () => {
    const place = createPlace();
    mkdirSync(place.home);
    const file = join(place.home, "settings.json");
    writeFileSync(file, '{"agents": {"Explor": false}}');
    expect((await retinue(["agents", "list"], place)).stdout).toContain('Did you mean "Explore"?');
    const { stderr } = await retinue(["-p", "hello"], place);
    expect(stderr).toContain(`${file}:1: "agents": {"Explor": false} has no effect`);
    expect(stderr).toContain('Did you mean "Explore"?');
    expect((await retinue(["doctor"], place)).stdout).toMatch(
      /^! agents .*settings\.json: "agents": \{"Explor".*\n.*→ Did you mean "Explore"\?/m,
    );
  });

  it("says in a run that an agent with a misspelled restriction does not load", async () => {
    const place = createPlace();
    write(place, { ".agents/agents/reviewer.md": reviewer.replace("tools: Read", "disallowedTools: Baash") });
    const { stderr } = await retinue(["-p", "hello", "--trust"], place);
    expect(stderr).toMatch(/reviewer\.md:4: "disallowedTools" names "Baash".* not loaded.* Did you mean "Bash"\?/);
  });

  it("says in doctor which agents have warnings, and that an untrusted directory's agents were not read", async () => {
    const place = createPlace();
    write(place, { ".agents/agents/reviewer.md": reviewer.replace("tools: Read", "tools: Baash, Read") });
    const before = (await retinue(["doctor"], place)).stdout;
    expect(before).toMatch(/^✓ agents +only the built-in ones; this directory's own were not read/m);
    await retinue(["trust", "add"], place);
    expect((await retinue(["doctor"], place)).stdout).toMatch(
      /^! agents +1 agent may not do what you expect: reviewer$/m,
    );
  });

  it("reports files that another directory hides, but not other text files", async () => {
    const place = createPlace();
    write(place, { ".agents/agents/reviewer.md": reviewer, ".agents/agents/README.md": "Our agents.\n" });
    write(place, { ".claude/agents/old.md": reviewer.replace("reviewer", "old") });
    const { stdout } = await retinue(["agents", "list", "--trust"], place);
    expect(stdout).toMatch(/\.claude\/agents\/old\.md:1: notice: .* takes precedence\. \[hidden_by_directory\]/);
    expect(stdout).not.toContain("in files. For details");
  });

  it("contains the same agents as a run", async () => {
    const place = createPlace();
    mkdirSync(place.home);
    const mine = { description: "Mine.", prompt: "You rhyme.", tools: ["Read"] };
    writeFileSync(join(place.home, "settings.json"), JSON.stringify({ agents: { mine } }));
    const server = await serve([{ content: "A rhyme." }]);
    const run = await retinue(["-p", "go", "--agent", "mine"], { ...place, server });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining("A rhyme.") });
    expect(JSON.stringify(server.requests[0]?.body)).toContain("You rhyme.");
  });

  it("contains the agents from a --settings file, which can also be delegated to", async () => {
    const place = createPlace();
    const file = join(place.cwd, "own.json");
    const mine = { description: "Mine.", prompt: "You rhyme.", tools: ["Read"] };
    writeFileSync(file, JSON.stringify({ agents: { mine, Explore: false } }));
    const input = { description: "a rhyme", prompt: "CHILD: rhyme", subagent_type: "mine" };
    const server = await serve({
      conversations: [
        {
          match: { firstUserContains: "MAIN:" },
          steps: [{ reply: { content: [{ tool: "Task", input }] } }, { reply: { content: "Done." } }],
        },
        { match: { systemContains: "You rhyme." }, steps: [{ reply: { content: "A rhyme." } }] },
      ],
    });
    const run = await retinue(["-p", "MAIN: go", "--settings", file], { ...place, server });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining("Done.") });
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("A rhyme.");
    const off = await retinue(["-p", "go", "--agent", "Explore", "--settings", file], place);
    expect(off.stderr).toContain(`"Explore" is switched off. ${file} sets`);
  });

  it("reads nothing above the trusted directory, and says so", async () => {
    const place = createPlace();
    write(place, {
      ".git/HEAD": "",
      ".agents/agents/reviewer.md": reviewer,
      "app/.agents/agents/near.md": reviewer.replace("reviewer", "near"),
    });
    const list = await retinue(["agents", "list", "--trust", "-C", join(place.cwd, "app")], place);
    expect(list.stdout).toMatch(/^near +project/m);
    expect(list.stdout).not.toMatch(/^reviewer /m);
    expect(list.stdout).toContain(
      `above the trusted directory: ../.agents/agents. To trust them all, run "retinue trust add ${place.cwd}".`,
    );
  });
});

describe("retinue agents show", () => {
  it("shows everything about one agent, by any of its names", async () => {
    const place = createPlace();
    write(place, {
      ".agents/agents/reviewer.md": reviewer.replace("model:", "color: blue\nskills: a, b\nmodle: x\nmodel:"),
    });
    write(place, { ".retinue/settings.json": '{ "permissions": { "deny": ["Task(reviewer)"] } }' });
    const { stdout, code } = await retinue(["agents", "show", "Reviewer", "--trust"], place);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^reviewer\nReviews changes\./);
    expect(stdout).toMatch(/^ {2}file +.*\.agents\/agents\/reviewer\.md$/m);
    expect(stdout).toMatch(/^ {2}tools +Read, Bash, written as Read, Bash\(git diff \*, git log \*\)$/m);
    expect(stdout).toMatch(/^ {2}color +blue$/m);
    expect(stdout).toMatch(/^ {2}skills +a, b$/m);
    expect(stdout).toMatch(/^ {2}listed +no\. The rule Task\(reviewer\) \(.*settings\.json\) denies it\.$/m);
    expect(stdout).toMatch(/There is no skill "a"\..*\[unknown_skill\]/);
    expect(stdout).toMatch(/reviewer\.md:\d+: notice: .*modle.* \[unknown_field\]/);
    const json = JSON.parse((await retinue(["agents", "show", "explore", "--json"], place)).stdout) as object;
    expect(json).toMatchObject({ name: "Explore", source: "built-in", definition: { name: "Explore" } });
  });

  it("suggests the nearest names for an unknown one", async () => {
    const run = await retinue(["agents", "show", "explor"], createPlace());
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/There is no agent "explor"\. Did you mean "Explore"\? Available agents: Explore, /);
  });
});

describe("retinue agents lint", () => {
  const vague = "---\nname: helper\ndescription: Helps with stuff\ntools: Read, Grpe\n---\nHelp.\n";

  it("reports problems in a directory's agents, without asking for trust", async () => {
    const place = createPlace();
    write(place, { "team/helper.md": vague, "team/README.md": "# Team\n", "team/broken.md": noDescription });
    const run = await retinue(["agents", "lint", "team"], place);
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(
      /^team\/helper\.md:4: warning: "tools" names "Grpe", .* \[unknown_tool\]\n.*Did you mean "Grep"/m,
    );
    expect(run.stdout).toMatch(/^team\/broken\.md:2: error: .*\[no_description\]$/m);
    expect(run.stdout).not.toContain("README");
    expect(run.stdout).toMatch(/^2 agents: \d+ findings\.$/m);
  });

  it("accepts names, and without arguments checks every agent", async () => {
    const place = createPlace();
    const good = reviewer.replace("was changed.", "was changed. Does not edit.");
    write(place, { ".agents/agents/helper.md": vague, ".agents/agents/Plan.md": good.replace("reviewer", "Plan") });
    const named = await retinue(["agents", "lint", "Plan", "--trust", "--json"], place);
    expect(named.code).toBe(0);
    expect(JSON.parse(named.stdout)).toMatchObject({ agents: 1, findings: [{ severity: "notice", code: "shadows" }] });
    const all = await retinue(["agents", "lint", "--trust"], place);
    expect(all).toMatchObject({ code: 1 });
    expect(all.stdout).toMatch(/^2 agents: /m);
    const untrusted = await retinue(["agents", "lint"], place);
    expect(untrusted).toMatchObject({ code: 0 });
    expect(untrusted.stdout).toMatch(/^0 agents: nothing found\. The agents in this directory were not read/);
    expect(await retinue(["agents", "lint", "nobody"], place)).toMatchObject({ code: 2 });
  });
});

describe("retinue agents new", () => {
  it("writes a file that loads, and never overwrites one", async () => {
    const place = createPlace();
    const words = [
      "agents",
      "new",
      "tester",
      "--description",
      "Runs: the tests. Use after changes.",
      "--tools",
      "Read,Bash",
    ];
    expect(await retinue(words, place)).toMatchObject({ code: 0 });
    const file = join(place.cwd, ".agents/agents/tester.md");
    const before = readFileSync(file, "utf8");
    const [line] = jsonLines(await retinue(["agents", "check", "--jsonl", file], place));
    expect(line).toMatchObject({
      loaded: true,
      name: "tester",
      description: "Runs: the tests. Use after changes.",
      tools: ["Read", "Bash"],
      diagnostics: [],
    });
    expect(await retinue(words, place)).toMatchObject({ code: 2 });
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("says that an agent in an untrusted directory is not loaded, and which command trusts the directory", async () => {
    const place = createPlace();
    const create = async (name: string, ...words: string[]) =>
      (
        await retinue(
          ["agents", "new", name, "--description", "Runs it. Use after edits. Edits nothing.", ...words],
          place,
        )
      ).stdout;
    const hint = `It will not be loaded until you trust ${place.cwd}: retinue trust add ${place.cwd}\n`;
    expect(await create("first")).toBe(`Wrote ${join(place.cwd, ".agents/agents/first.md")}.\n${hint}`);
    expect(await create("mine", "--user")).not.toContain("trust");
    await retinue(["trust", "add"], place);
    expect(await create("second")).not.toContain("trust");
  });

  it("writes to the user's own directory, and reports missing values if it can't ask", async () => {
    const place = createPlace();
    await retinue(["agents", "new", "mine", "--user", "--description", "Helps. Use always."], place);
    expect(existsSync(join(place.home, "../.agents/agents/mine.md"))).toBe(true);
    expect((await listed(place)).agents).toContainEqual(expect.objectContaining({ name: "mine", source: "user" }));
    const run = await retinue(["agents", "new", "other"], place);
    expect(run).toMatchObject({ code: 2 });
    expect(run.stderr).toContain('"agents new" needs a description');
  });
});
