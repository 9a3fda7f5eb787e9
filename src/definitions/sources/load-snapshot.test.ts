import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCatalog } from "../catalog/create-catalog.ts";
import { loadSnapshot } from "./load-snapshot.ts";
import type { SnapshotOptions } from "./snapshot.ts";

let place = "";
let home = "";
let project = "";

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-snapshot-")));
  home = join(place, "home");
  project = join(place, "project");
  mkdirSync(home);
  mkdirSync(join(project, ".git"), { recursive: true });
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

function write(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const agentText = (name: string, description = `Does ${name}.`) =>
  `---\nname: ${name}\ndescription: ${description}\n---\nYou are ${name}.\n`;
const agent = (file: string, name: string, description?: string) => write(file, agentText(name, description));

const load = (more: Partial<SnapshotOptions> = {}) =>
  loadSnapshot({ cwd: project, home, stateHome: join(home, ".retinue"), trusted: true, ...more });

const names = (agents: readonly { definition: { name: string } }[]) => agents.map(({ definition }) => definition.name);

describe("definition files", () => {
  it("are all .md files in the folder and its subfolders, with bodies read on demand", async () => {
    agent(join(project, ".claude/agents/one.md"), "one");
    const deep = agent(join(project, ".claude/agents/team/deep/two.MD"), "two");
    agent(join(project, ".claude/agents/three.txt"), "three");
    agent(join(project, ".claude/agents/.four.md"), "four");
    const { agents, diagnostics } = await load();
    expect(names(agents)).toEqual(["one", "two"]);
    expect(agents[1]?.definition).toMatchObject({ source: "project", file: deep });
    expect(agents[1]?.body.trim()).toBe("You are two.");
    expect(diagnostics).toEqual([]);
  });

  it("are ordered by source: built-in, plugin, user, project, flag, policy", async () => {
    agent(join(home, ".claude/agents/a.md"), "a", "user");
    agent(join(project, ".claude/agents/a.md"), "a", "project");
    agent(join(place, "managed/agents/b.md"), "b", "policy");
    const settings = {
      agents: [
        { source: "user" as const, file: "/s.json", agents: { a: { description: "settings", prompt: "x" } } },
        { source: "user" as const, file: "/s.json", agents: { c: { description: "settings", prompt: "x" } } },
      ],
    };
    const flags = { agents: { b: { description: "flag", prompt: "x" }, d: { description: "flag", prompt: "Do d." } } };
    const snapshot = await load({ settings, flags, managedDirectory: join(place, "managed") });
    const catalog = createCatalog(snapshot.agents);
    const said = Object.fromEntries(catalog.agents.map(({ definition }) => [definition.name, definition.description]));
    expect(said).toEqual({ a: "project", b: "policy", c: "settings", d: "flag" });
    expect(catalog.find("d")?.agent.body).toBe("Do d.");
    expect(catalog.diagnostics).toMatchObject([{ code: "settings_agent_hidden", file: "/s.json" }]);
  });

  it("from a plugin have the plugin's name as a prefix", async () => {
    const file = agent(join(place, "kit/agents/lint.md"), "lint");
    const plugin = { name: "kit", root: join(place, "kit"), agentFiles: [file], skillFiles: [], commandFiles: [] };
    const { agents } = await load({ plugins: [plugin] });
    expect(names(agents)).toEqual(["kit:lint"]);
    expect(createCatalog(agents).find("lint")?.by).toBe("plugin");
  });

  it("come from .agents/agents instead of .claude/agents, with a report about the hidden ones", async () => {
    agent(join(project, ".agents/agents/one.md"), "one");
    const other = agent(join(project, ".claude/agents/two.md"), "two");
    const first = await load();
    expect(names(first.agents)).toEqual(["one"]);
    expect(first.diagnostics).toMatchObject([{ code: "hidden_by_directory", file: other, severity: "notice" }]);
    const merged = await load({ settings: { directories: "merge" } });
    expect(names(merged.agents)).toEqual(["one", "two"]);
    expect(merged.diagnostics).toEqual([]);
  });

  it("in the nearest of several nested directories take precedence", async () => {
    agent(join(project, ".claude/agents/a.md"), "a", "far");
    agent(join(project, ".claude/agents/b.md"), "b", "far");
    agent(join(project, "packages/x/.agents/agents/z.md"), "a", "near");
    const catalog = createCatalog((await load({ cwd: join(project, "packages/x") })).agents);
    expect(catalog.find("a")?.agent.definition.description).toBe("near");
    expect(catalog.find("b")?.agent.definition.description).toBe("far");
    expect(catalog.overrides).toMatchObject([{ rule: "nearest" }]);
  });

  it("above the git root or the home directory are not read", async () => {
    agent(join(place, ".claude/agents/above.md"), "above");
    agent(join(home, ".claude/agents/mine.md"), "mine");
    mkdirSync(join(home, "work/inner"), { recursive: true });
    agent(join(home, "work/.claude/agents/work.md"), "work");
    expect(names((await load()).agents)).toEqual(["mine"]);
    const inHome = await load({ cwd: join(home, "work/inner") });
    expect(inHome.agents.map(({ definition }) => [definition.name, definition.source])).toEqual([
      ["mine", "user"],
      ["work", "project"],
    ]);
    rmSync(join(project, ".git"), { recursive: true });
    mkdirSync(join(project, "inner"));
    agent(join(project, ".claude/agents/a.md"), "a");
    expect(names((await load({ cwd: join(project, "inner") })).agents)).toEqual(["mine"]);
  });

  it("in a world-writable directory above the working directory are not read", async () => {
    agent(join(project, ".claude/agents/planted.md"), "planted");
    agent(join(project, "mine/.claude/agents/own.md"), "own");
    const cwd = join(project, "mine");
    expect(names((await load({ cwd })).agents)).toEqual(["own", "planted"]);
    chmodSync(project, 0o777);
    expect(names((await load({ cwd })).agents)).toEqual(["own"]);
  });

  it("are read up to 256 KB, and larger ones are reported", async () => {
    const text = agentText("large").padEnd(256 * 1024, "x");
    write(join(project, ".claude/agents/large.md"), text);
    const over = write(join(project, ".claude/agents/over.md"), `${agentText("over").padEnd(256 * 1024, "x")}x`);
    const huge = write(join(project, ".claude/agents/very/huge.md"), agentText("huge").padEnd(3 * 1024 * 1024, "x"));
    const { agents, diagnostics } = await load();
    expect(names(agents)).toEqual(["large"]);
    expect(agents[0]?.body).toBe(text.slice(text.indexOf("You are")));
    const problem = { severity: "error", line: 1, code: "file_too_large", fix: expect.stringMatching(/^Move/) };
    expect(diagnostics).toMatchObject([
      { ...problem, file: over },
      { ...problem, file: huge },
    ]);
  });

  it("are reported with a suggested fix if they can't be read, and the rest are loaded", async () => {
    const agents = join(project, ".claude/agents");
    agent(join(agents, "good.md"), "good");
    agent(join(agents, "folder.md/inner.md"), "inner");
    symlinkSync(join(agents, "gone.md"), join(agents, "dangling.md"));
    symlinkSync("loop.md", join(agents, "loop.md"));
    execFileSync("mkfifo", [join(agents, "pipe.md")]);
    symlinkSync("skills", join(agents, "../skills"));
    const loaded = await load();
    expect(names(loaded.agents)).toEqual(["good", "inner"]);
    expect(loaded.diagnostics.map(({ file, code }) => [relative(project, file), code])).toEqual([
      [".claude/agents/dangling.md", "link_broken"],
      [".claude/agents/loop.md", "link_broken"],
      [".claude/agents/pipe.md", "unreadable"],
      [".claude/skills", "unreadable_directory"],
    ]);
    for (const { line, fix } of loaded.diagnostics) expect([line, fix]).toEqual([1, expect.stringMatching(/\w/)]);
  });

  it.each([
    ["a link to itself", (path: string) => symlinkSync("agents", path), "unreadable_directory"],
    ["a link to nothing", (path: string) => symlinkSync("nothing", path), "link_broken"],
    ["a pipe", (path: string) => execFileSync("mkfifo", [path]), "unreadable_directory"],
    ["a file", (path: string) => writeFileSync(path, "x"), "unreadable_directory"],
  ])("are not found if their directory is %s, which is reported", async (_, make, code) => {
    const directory = join(project, ".agents/agents");
    mkdirSync(dirname(directory));
    make(directory);
    agent(join(project, ".claude/agents/one.md"), "one");
    const { agents, diagnostics } = await load();
    expect(names(agents)).toEqual(["one"]);
    expect(diagnostics).toMatchObject([{ severity: "error", file: directory, line: 1, code }]);
    expect(diagnostics[0]?.fix).toMatch(/\w/);
  });

  it("are not found in a directory that is too deep for the system to open, which is reported", async () => {
    const nested = (count: number) => Array.from({ length: count }, () => "d".repeat(240)).join("/");
    const [elsewhere, cwd] = [join(place, "elsewhere"), join(project, nested(9))];
    mkdirSync(join(elsewhere, "agents", nested(8)), { recursive: true });
    mkdirSync(cwd, { recursive: true });
    // The path of the whole tree would be too long for the system, so one half is moved below the other.
    renameSync(elsewhere, join(cwd, ".claude"));
    const { diagnostics } = await load({ cwd });
    renameSync(join(cwd, ".claude"), elsewhere);
    expect(diagnostics).toMatchObject([{ severity: "error", line: 1, code: "unreadable_directory" }]);
    expect(diagnostics[0]?.message).toContain("ENAMETOOLONG");
  });

  it("in the user's own directories are read even without a working directory", async () => {
    agent(join(home, ".claude/agents/mine.md"), "mine");
    symlinkSync("round", join(place, "round"));
    const { agents, diagnostics } = await load({ cwd: join(place, "round") });
    expect(names(agents)).toEqual(["mine"]);
    expect(diagnostics.map(({ code }) => code)).toContain("unreadable_directory");
  });

  it("are all loaded except the invalid ones", async () => {
    agent(join(project, ".claude/agents/a.md"), "a");
    const bad = write(join(project, ".claude/agents/bad.md"), "---\nname: bad\n---\nNo description.\n");
    execFileSync("mkfifo", [join(project, ".claude/agents/pipe.md")]);
    const { agents, diagnostics } = await load();
    expect(names(agents)).toEqual(["a"]);
    expect(diagnostics).toMatchObject([{ file: bad, severity: "error" }, { code: "unreadable" }]);
  });
});

describe("a partly trusted project", () => {
  const app = () => join(project, "app");
  const loadPart = () => load({ cwd: app(), trustedRoot: app() });

  it("is not read above the trusted part", async () => {
    agent(join(app(), ".agents/agents/near.md"), "near");
    write(join(app(), "AGENTS.md"), "near");
    mkdirSync(join(project, ".agents/agents"), { recursive: true });
    mkdirSync(join(project, ".agents/skills/s"), { recursive: true });
    // Each of these files would be reported if it were read.
    for (const name of ["AGENTS.md", "CLAUDE.md", ".agents/agents/a.md", ".agents/skills/s/SKILL.md"]) {
      execFileSync("mkfifo", [join(project, name)]);
    }
    symlinkSync("nowhere", join(project, ".agents/agents/b.md"));
    expect((await load({ cwd: app() })).diagnostics).toHaveLength(5);
    const { agents, contextFiles, diagnostics } = await loadPart();
    expect(names(agents)).toEqual(["near"]);
    expect(contextFiles.map(({ text }) => text)).toEqual(["near"]);
    expect(diagnostics).toEqual([]);
  });

  it("can't link to or import files above the trusted part, not even in the user's home", async () => {
    project = join(home, "project");
    mkdirSync(join(project, ".git"), { recursive: true });
    const above = agent(join(project, "above.md"), "above");
    write(join(app(), "AGENTS.md"), "near\n@../above.md\n");
    mkdirSync(join(app(), ".claude/agents"), { recursive: true });
    symlinkSync(above, join(app(), ".claude/agents/linked.md"));
    symlinkSync(above, join(app(), "CLAUDE.md"));
    expect((await load({ cwd: app() })).contextFiles).toHaveLength(2);
    const { agents, contextFiles, diagnostics } = await loadPart();
    expect([agents, contextFiles.map(({ file }) => relative(app(), file))]).toEqual([[], ["AGENTS.md"]]);
    expect(diagnostics.map(({ file, code }) => [relative(app(), file), code])).toEqual([
      [".claude/agents/linked.md", "link_outside"],
      ["AGENTS.md", "context_outside"],
      ["CLAUDE.md", "context_outside"],
    ]);
    expect(diagnostics[1]?.message).toContain(`is outside ${app()}, the only part of the project that you trust`);
  });

  it("is read in full if a directory above it is trusted, and not at all if only another directory is", async () => {
    agent(join(project, ".claude/agents/a.md"), "a");
    mkdirSync(app());
    expect(names((await load({ cwd: app(), trustedRoot: place })).agents)).toEqual(["a"]);
    expect((await load({ cwd: project, trustedRoot: app() })).agents).toEqual([]);
  });
});

describe("links", () => {
  it("that stay in the project are followed, and all others are refused", async () => {
    agent(join(project, "shared/inside.md"), "inside");
    const secret = agent(join(place, "elsewhere/outside.md"), "outside");
    mkdirSync(join(project, ".claude/agents"), { recursive: true });
    const at = (name: string) => join(project, ".claude/agents", name);
    symlinkSync("../../shared/inside.md", at("inside.md"));
    symlinkSync(secret, at("outside.md"));
    symlinkSync(dirname(secret), at("folder"));
    symlinkSync("..", at("loop"));
    symlinkSync("nowhere", at("broken.md"));
    const { agents, diagnostics } = await load();
    expect(names(agents)).toEqual(["inside"]);
    expect(diagnostics.map(({ file, code }) => [file, code])).toEqual([
      [at("broken.md"), "link_broken"],
      [at("folder"), "link_outside"],
      [at("outside.md"), "link_outside"],
    ]);
  });

  it("in place of the directory itself are judged by their target", async () => {
    agent(join(place, "elsewhere/agents/x.md"), "x");
    symlinkSync(join(place, "elsewhere"), join(project, ".agents"));
    agent(join(project, ".claude/agents/y.md"), "y");
    const { agents, diagnostics } = await load();
    expect(names(agents)).toEqual(["y"]);
    expect(diagnostics.map(({ code }) => code)).toContain("link_outside");
    rmSync(join(project, ".agents"));
    symlinkSync(".claude", join(project, ".agents"));
    const linked = await load();
    expect(names(linked.agents)).toEqual(["y"]);
    expect(linked.diagnostics).toEqual([]);
  });
});

describe("an untrusted workspace", () => {
  it("contributes nothing of its own", async () => {
    agent(join(project, ".claude/agents/a.md"), "a");
    write(join(project, ".claude/agents/bad.md"), "---\n");
    write(join(project, ".claude/skills/s/SKILL.md"), "---\nname: s\ndescription: S.\n---\n");
    write(join(project, "CLAUDE.md"), "Project.");
    agent(join(home, ".claude/agents/mine.md"), "mine");
    const settings = {
      agents: [{ source: "project" as const, file: "/s", agents: { p: { description: "p", prompt: "p" } } }],
    };
    const { agents, skills, contextFiles, diagnostics } = await load({ trusted: false, settings });
    expect([names(agents), skills, contextFiles, diagnostics]).toEqual([["mine"], [], [], []]);
    const trusted = await load({ settings });
    expect(names(trusted.agents)).toEqual(["mine", "a", "p"]);
  });
});

describe("a relative home directory", () => {
  it("is not resolved against the working directory", async () => {
    agent(join(home, ".claude/agents/planted.md"), "planted");
    write(join(home, "AGENTS.md"), "planted");
    agent(join(project, ".claude/agents/a.md"), "a");
    const unknown = relative(process.cwd(), home);
    const { agents, contextFiles } = await load({ home: unknown, stateHome: unknown });
    expect([names(agents), contextFiles]).toEqual([["a"], []]);
  });
});

describe("a snapshot", () => {
  it("is frozen, and its hash depends on the definitions in effect", async () => {
    const file = agent(join(project, ".claude/agents/a.md"), "a");
    const one = await load();
    expect(Object.isFrozen(one) && Object.isFrozen(one.agents) && Object.isFrozen(one.agents[0]?.definition)).toBe(
      true,
    );
    expect((await load()).hash).toBe(one.hash);
    write(file, `${agentText("a")}More.\n`);
    const two = await load();
    expect(two.hash).not.toBe(one.hash);
    expect(one.agents[0]?.body).not.toContain("More");
    write(join(project, "AGENTS.md"), "Hello.");
    expect((await load()).hash).not.toBe(two.hash);
  });

  it("keeps the last good version of a broken file, and drops a deleted one", async () => {
    const file = agent(join(project, ".claude/agents/a.md"), "a");
    const one = await load();
    write(file, "");
    const options = { cwd: project, home, stateHome: join(home, ".retinue"), trusted: true };
    const two = await loadSnapshot(options, one);
    expect(names(two.agents)).toEqual(["a"]);
    expect(two.diagnostics.map(({ code }) => code)).toContain("kept_last_good");
    const three = await loadSnapshot(options, two);
    expect(three.hash).toBe(one.hash);
    rmSync(file);
    expect((await loadSnapshot(options, three)).agents).toEqual([]);
  });
});
