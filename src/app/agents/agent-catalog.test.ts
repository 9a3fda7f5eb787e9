import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTrustStore } from "../../settings/index.ts";
import { listAgents, showAgent } from "../commands/agents.ts";
import { lintAgents } from "../commands/check-agents.ts";
import { addTrust } from "../commands/trust.ts";
import { type CatalogOptions, loadAgentCatalog } from "./agent-catalog.ts";

type Files = Readonly<Record<string, unknown>>;

/** Creates a project. `user` is the home directory, `shop` a repository. */
function createProject(
  files: Files,
  options: Partial<CatalogOptions> = {},
): CatalogOptions & { readonly root: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-catalog-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const directory of ["user", "shop/.git", "shop/app/deep"]) mkdirSync(join(root, directory), { recursive: true });
  write(root, files);
  return {
    root,
    cwd: join(root, "shop"),
    home: join(root, "user/.retinue"),
    environment: { HOME: join(root, "user") },
    trust: true,
    managedDirectory: join(root, "managed"),
    ...options,
  };
}

function write(root: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), typeof content === "string" ? content : JSON.stringify(content));
  }
}

const agent = (description: string, more = ""): string => `---\ndescription: ${description}\n${more}---\nWork.\n`;
const given = (description: string) => ({ description, prompt: "Work." });

async function found(options: CatalogOptions, name: string) {
  const definition = (await loadAgentCatalog(options)).catalog.find(name)?.agent.definition;
  return definition && { description: definition.description, source: definition.source };
}

describe("agents in settings", () => {
  it("have their file's scope and their own prompt", async () => {
    const options = createProject({
      "user/.retinue/settings.json": { agents: { a: given("User's."), b: given("User's.") } },
      "shop/.retinue/settings.json": { agents: { b: given("Project's."), c: given("Project's.") } },
      "managed/settings.json": { agents: { c: given("Managed.") } },
    });
    expect(await found(options, "a")).toEqual({ description: "User's.", source: "user" });
    expect(await found(options, "b")).toEqual({ description: "Project's.", source: "project" });
    expect(await found(options, "c")).toEqual({ description: "Managed.", source: "policy" });
    const { catalog } = await loadAgentCatalog(options);
    expect(catalog.find("a")?.agent.body()).toBe("Work.");
    expect(catalog.overrides.filter(({ rule }) => rule === "source")).toHaveLength(2);
  });

  it("are overridden by a Markdown file in the same scope, and the conflict is reported", async () => {
    const options = createProject({
      "user/.retinue/settings.json": { agents: { a: given("In settings.") } },
      "user/.agents/agents/a.md": agent("In a file."),
    });
    expect(await found(options, "a")).toEqual({ description: "In a file.", source: "user" });
    const { diagnostics } = await loadAgentCatalog(options);
    expect(diagnostics).toMatchObject([
      { code: "settings_agent_hidden", file: join(options.root, "user/.retinue/settings.json") },
    ]);
  });

  it("apply only in a trusted project, and the nearest level wins", async () => {
    const files = {
      "shop/.retinue/settings.json": { agents: { a: given("Far."), b: given("Far.") } },
      "shop/app/.retinue/settings.json": { agents: { a: given("Near.") } },
    };
    expect(await found(createProject(files, { trust: false }), "a")).toBeUndefined();
    const options = createProject(files);
    const app = { ...options, cwd: join(options.cwd, "app"), trust: false };
    for (const cwd of [options.cwd, app.cwd])
      await addTrust({ home: options.home, cwd, environment: options.environment });
    expect(await found(app, "a")).toEqual({ description: "Near.", source: "project" });
    expect(await found(app, "b")).toEqual({ description: "Far.", source: "project" });
    write(options.root, { "shop/.retinue/settings.json": { agents: { b: given("Changed.") } } });
    expect(await found(app, "b")).toBeUndefined();
  });

  it("are reported with their name and file if they can't be read", async () => {
    const options = createProject({ "user/.retinue/settings.json": { agents: { mute: { prompt: "Work." } } } });
    expect((await loadAgentCatalog(options)).diagnostics).toContainEqual(
      expect.objectContaining({
        code: "no_description",
        file: join(options.root, "user/.retinue/settings.json"),
        message: expect.stringContaining("agents.mute"),
      }),
    );
    write(options.root, { "user/.retinue/settings.json": '{"agents": ' });
    expect((await loadAgentCatalog(options)).diagnostics).toMatchObject([
      {
        code: "settings_unreadable",
        severity: "error",
        file: join(options.root, "user/.retinue/settings.json"),
        line: 1,
        message: expect.not.stringContaining("settings.json"),
      },
    ]);
    rmSync(join(options.root, "user/.retinue/settings.json"));
    mkdirSync(join(options.root, "user/.retinue/settings.json"));
    expect((await loadAgentCatalog(options)).diagnostics).toMatchObject([
      {
        file: join(options.root, "user/.retinue/settings.json"),
        message: "This is not a regular file. Replace it with one.",
      },
    ]);
  });
});

describe("settings for all agents", () => {
  it("merge both directories", async () => {
    const options = createProject({ "user/.agents/agents/a.md": agent("A."), "user/.claude/agents/b.md": agent("B.") });
    expect(await found(options, "b")).toBeUndefined();
    write(options.root, { "user/.retinue/settings.json": { agents: { directories: "merge" } } });
    expect(await found(options, "a")).toBeDefined();
    expect(await found(options, "b")).toBeDefined();
  });

  it("switch off a built-in agent, even by alias, and the list gives the reason", async () => {
    const options = createProject({ "user/.retinue/settings.json": { agents: { explore: false, nobody: false } } });
    const { agents, switchedOff, diagnostics } = await listAgents(options);
    expect(agents.map(({ name }) => name)).not.toContain("Explore");
    expect(switchedOff).toEqual([
      { name: "Explore", reason: `${options.root}/user/.retinue/settings.json sets "agents": {"explore": false}.` },
    ]);
    expect(diagnostics).toMatchObject([{ code: "switched_nothing_off", message: expect.stringContaining('"nobody"') }]);
    await expect(showAgent("explore", options)).rejects.toMatchObject({
      message: 'The built-in agent "Explore" is switched off',
      fix: expect.stringMatching(/settings\.json sets "agents": \{"explore": false\}/),
    });
    write(options.root, { "shop/.agents/agents/Explore.md": agent("Ours.") });
    expect(await found(options, "Explore")).toEqual({ description: "Ours.", source: "project" });
  });

  it("let a plugin's agent replace a built-in one if the user allows it", async () => {
    const { enablePlugin, addPlugin } = await import("../commands/plugins.ts");
    const options = createProject({
      "kit/.retinue-plugin/plugin.json": { name: "kit" },
      "kit/agents/Explore.md": agent("Kit's."),
      "shop/.retinue/settings.json": { agents: { replaceBuiltIns: ["kit:Explore"] } },
    });
    const { plugin } = await addPlugin(join(options.root, "kit"), { home: options.home, environment: {} });
    await enablePlugin(options.home, { name: "kit", hash: plugin.hash });
    expect(await found(options, "Explore")).toMatchObject({ source: "built-in" });
    const replaceBuiltIns = ["kit:Explore", "kit:Plan"];
    write(options.root, { "user/.retinue/settings.json": { agents: { replaceBuiltIns } } });
    expect(await found(options, "Explore")).toEqual({ description: "Kit's.", source: "plugin" });
    expect((await loadAgentCatalog(options)).diagnostics).toMatchObject([
      { code: "replaces_nothing", message: expect.stringContaining("kit:Plan") },
    ]);
  });
});

it("gives the administrator's agents the highest precedence", async () => {
  const options = createProject({
    "managed/agents/a.md": agent("Managed."),
    "shop/.agents/agents/a.md": agent("Project's."),
  });
  expect(await found({ ...options, agents: { a: given("Flag's.") } }, "a")).toEqual({
    description: "Managed.",
    source: "policy",
  });
});

it("does not offer a hidden agent for delegation, but finds it by name", async () => {
  const options = createProject({ "shop/.agents/agents/a.md": agent("A.", "hidden: true\n") });
  const { agents } = await listAgents(options);
  expect(agents.find(({ name }) => name === "a")).toMatchObject({ hidden: true, tokens: 0 });
  expect(agents.find(({ name }) => name === "Plan")).toMatchObject({ hidden: false, tokens: expect.any(Number) });
  expect(await found(options, "a")).toBeDefined();
  expect(await showAgent("a", options)).toMatchObject({ name: "a", hidden: true });
});

describe("trust in a part of a repository", () => {
  const files = {
    "shop/AGENTS.md": "Obey the root.",
    "shop/.agents/agents/a.md": agent("Root's."),
    "shop/.agents/skills/s/SKILL.md": "---\nname: s\ndescription: S.\n---\nDo.\n",
    "shop/notes.md": "Obey the notes.",
    "shop/app/AGENTS.md": "Obey the app. @../notes.md",
    "shop/app/.agents/agents/b.md": agent("App's."),
  };

  it("does not extend to the files above that part, even through links and imports", async () => {
    const options = createProject(files);
    symlinkSync("../../../.agents/agents/a.md", join(options.root, "shop/app/.agents/agents/linked.md"));
    const app = { ...options, cwd: join(options.cwd, "app") };
    const { catalog, snapshot } = await loadAgentCatalog(app);
    const { trustedRoot, off } = snapshot;
    expect(trustedRoot).toBe(app.cwd);
    expect(["a", "b", "linked"].map((name) => catalog.find(name)?.by)).toEqual([undefined, "name", undefined]);
    expect(snapshot.contextFiles.map(({ file }) => file)).toEqual([join(app.cwd, "AGENTS.md")]);
    expect(snapshot.skills).toEqual([]);
    expect(off).toEqual(["../AGENTS.md", "../.agents/agents", "../.agents/skills"]);
  });

  it("extends to everything below that part, from any working directory", async () => {
    const options = createProject(files, { trust: false });
    const deep = { ...options, cwd: join(options.cwd, "app/deep") };
    expect((await loadAgentCatalog(deep)).snapshot).toMatchObject({
      trustedRoot: undefined,
      off: expect.arrayContaining(["../../AGENTS.md"]),
    });
    await createTrustStore({ stateHome: options.home }).add(options.cwd);
    const { catalog, snapshot } = await loadAgentCatalog(deep);
    expect(snapshot.trustedRoot).toBe(options.cwd);
    expect(["a", "b"].map((name) => catalog.find(name)?.by)).toEqual(["name", "name"]);
    expect(snapshot.contextFiles.map(({ text }) => text)).toContain("Obey the root.");
    expect(snapshot.off).toEqual([]);
  });
});

describe("a value in managed settings", () => {
  const own = "model: mine\neffort: max\nmaxTurns: 90\npermissionMode: acceptEdits\n";
  const settings = { model: "theirs", effort: "low", maxTurns: 20, permissions: { defaultMode: "default" } };

  it("can't be overridden by any definition, even a built-in one, and each attempt is reported", async () => {
    const options = createProject({ "managed/settings.json": settings, "user/.agents/agents/a.md": agent("A.", own) });
    const { catalog, diagnostics } = await loadAgentCatalog(options);
    const { definition } = catalog.find("a")!.agent;
    for (const field of ["model", "effort", "maxTurns", "permissionMode"]) expect(definition).not.toHaveProperty(field);
    expect(catalog.find("Explore")!.agent.definition).not.toHaveProperty("model");
    const told = diagnostics.filter(({ file }) => file.endsWith("a.md"));
    expect(told.map(({ code, severity }) => `${severity} ${code}`)).toEqual(Array(4).fill("notice managed"));
    expect(told[0]?.message).toBe(
      `model has no effect: ${options.root}/managed/settings.json sets model for this machine.`,
    );
  });

  it("does not change stricter values, or values from the same source", async () => {
    const strict = "maxTurns: 5\npermissionMode: plan\n";
    const options = createProject({
      "managed/settings.json": settings,
      "managed/agents/m.md": agent("M.", own),
      "user/.agents/agents/a.md": agent("A.", strict),
    });
    const { catalog } = await loadAgentCatalog(options);
    expect(catalog.find("a")!.agent.definition).toMatchObject({ maxTurns: 5, permissionMode: "plan" });
    expect(catalog.find("m")!.agent.definition).toMatchObject({ model: "mine", maxTurns: 90 });
  });

  it("can be overridden by a definition if it comes only from the user's settings", async () => {
    const options = createProject({
      "user/.retinue/settings.json": settings,
      "user/.agents/agents/a.md": agent("A.", own),
    });
    expect((await loadAgentCatalog(options)).catalog.find("a")!.agent.definition).toMatchObject({ model: "mine" });
  });
});

describe("reports about agents that can't work as written", () => {
  it("name the rule that denies an agent and hides it from models", async () => {
    const options = createProject({
      "user/.retinue/settings.json": { permissions: { deny: ["Task(explore)"] } },
      "shop/.agents/agents/a.md": agent("A."),
    });
    const { agents, tokens } = await listAgents(options);
    const row = (name: string) => agents.find((each) => each.name === name);
    const file = join(options.home, "settings.json");
    expect(row("Explore")).toMatchObject({ denied: `The rule Task(explore) (${file}) denies it.`, tokens: 0 });
    expect(row("a")?.denied).toBeNull();
    expect(tokens).toBeLessThan((await listAgents({ ...options, home: join(options.root, "none") })).tokens);
  });

  it("report a name clash with the right agent, not with others in the same settings file", async () => {
    const options = createProject({
      "user/.agents/agents/a.md": agent("A."),
      "user/.retinue/settings.json": {
        agents: { a: { description: "A.", prompt: "p" }, b: { description: "B.", prompt: "p", tools: ["Baash"] } },
      },
    });
    const codes = async (name: string) => (await showAgent(name, options)).diagnostics.map(({ code }) => code);
    expect(await codes("a")).toEqual(["settings_agent_hidden"]);
    expect(await codes("b")).toEqual(["unknown_tool"]);
    const lint = async (name: string) => (await lintAgents([name], options)).findings.map(({ code }) => code);
    expect(await lint("b")).not.toContain("settings_agent_hidden");
    expect(await lint("a")).not.toContain("unknown_tool");
  });

  it("name missing skills", async () => {
    const options = createProject({
      "shop/.agents/agents/a.md": agent("A.", "skills: /ship, shop\n"),
      "shop/.agents/skills/ship/SKILL.md": "---\ndescription: Ships.\n---\nShip.\n",
    });
    const told = [expect.objectContaining({ code: "unknown_skill", message: expect.stringContaining('"shop"') })];
    expect((await showAgent("a", options)).diagnostics).toEqual(told);
    expect((await lintAgents(["a"], options)).findings).toEqual(expect.arrayContaining(told));
  });
});
