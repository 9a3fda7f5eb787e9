import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LoadedSettings } from "../protocol/index.ts";
import { checkSettings, type LoadSettingsOptions, readSettings } from "./index.ts";

function read(files: Readonly<Record<string, unknown>>, options: Partial<LoadSettingsOptions> = {}) {
  const root = mkdtempSync(join(tmpdir(), "retinue-agents-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), JSON.stringify(content));
  }
  const places = { home: join(root, "home"), userHome: root, managedDirectory: join(root, "managed") };
  const loaded: LoadedSettings = readSettings({ ...places, cwd: join(root, "work"), trusted: true, ...options });
  return { root, ...loaded };
}

const one = { description: "One." };
const two = { description: "Two.", tools: "Read" };

describe("the agents key in the settings", () => {
  it("gives each scope its own definitions, which are not merged", () => {
    const { root, agents } = read(
      {
        "home/settings.json": { agents: { a: one, b: one } },
        "work/.claude/settings.json": { agents: { a: two, c: one } },
        "work/.retinue/settings.local.json": { agents: { c: two } },
        "managed/settings.json": { agents: { a: one } },
      },
      { flags: { agents: { d: one } } },
    );
    expect(agents.definitions).toMatchObject([
      { source: "user", file: join(root, "home/settings.json"), agents: { a: one, b: one } },
      { source: "project", file: join(root, "work/.claude/settings.json"), agents: { a: two } },
      { source: "project", file: join(root, "work/.retinue/settings.local.json"), agents: { c: two } },
      { source: "flag", agents: { d: one } },
      { source: "policy", file: join(root, "managed/settings.json"), agents: { a: one } },
    ]);
  });

  it("switches off an agent with false, unless a higher source defines it", () => {
    const { root, agents } = read({
      "home/settings.json": { agents: { Explore: false, Plan: false, Bash: false } },
      "work/.retinue/settings.json": { agents: { Plan: true, Bash: one } },
    });
    expect(agents.switchedOff).toEqual([{ name: "Explore", file: join(root, "home/settings.json") }]);
  });

  it("accepts options for all agents, whose names never clash with an agent's name", () => {
    const words = { directories: "merge", replaceBuiltIns: ["kit:Explore"] };
    expect(read({ "home/settings.json": { agents: words } }).agents).toEqual({
      definitions: [],
      directories: "merge",
      replaceBuiltIns: ["kit:Explore"],
      switchedOff: [],
    });
    const { agents } = read({
      "home/settings.json": { agents: { directories: one } },
      "work/.retinue/settings.json": { agents: { directories: "merge" } },
    });
    expect(agents).toMatchObject({
      directories: "merge",
      definitions: [{ source: "user", agents: { directories: one } }],
    });
  });

  it.each([
    [{ directories: "both" }, 'agents.directories must be "first" or "merge"'],
    [{ directories: false }, 'agents.directories must be "first" or "merge"'],
    [{ replaceBuiltIns: "kit:Explore" }, "agents.replaceBuiltIns must be a list"],
    [{ replaceBuiltIns: [1] }, "agents.replaceBuiltIns must be a list"],
    [{ reviewer: "off" }, "agents.reviewer must be a definition"],
    [{ reviewer: null }, "agents.reviewer must be a definition"],
    [[], "agents must be"],
  ])("reports the problem with %j", (agents, problem) => {
    expect(checkSettings({ agents }).problems).toEqual([expect.stringContaining(problem)]);
  });

  it("applies in a project only while it is trusted and unchanged, and never lets a plugin replace a built-in agent", () => {
    const files = {
      "work/.retinue/settings.json": { agents: { a: one, Explore: false, replaceBuiltIns: ["kit:Plan"] } },
    };
    const nothing = { definitions: [], switchedOff: [], replaceBuiltIns: [] };
    expect(read(files, { trusted: false }).agents).toMatchObject(nothing);
    expect(read(files, { approvedHash: () => "another" }).agents).toMatchObject(nothing);
    const { agents, notices } = read(files);
    expect(agents).toMatchObject({ definitions: [{ agents: { a: one } }], switchedOff: [{ name: "Explore" }] });
    expect(agents.replaceBuiltIns).toEqual([]);
    expect(notices).toEqual([expect.stringContaining("ignoring agents.replaceBuiltIns, which a project can't set")]);
  });
});
