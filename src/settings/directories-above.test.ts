import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LoadedSettings } from "../protocol/index.ts";
import { type DirectoryAbove, type LoadSettingsOptions, readSettings } from "./index.ts";

/** Creates a project with a workspace two levels below its root. */
function project(files: Readonly<Record<string, unknown>>) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-above-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "project/packages/app");
  mkdirSync(cwd, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  const above = (trusted: boolean, more: Partial<DirectoryAbove> = {}): DirectoryAbove[] => [
    { path: join(root, "project/packages"), trusted, ...more },
    { path: join(root, "project"), trusted, ...more },
  ];
  const read = (options: Partial<LoadSettingsOptions>): LoadedSettings =>
    readSettings({
      home: join(root, "home"),
      userHome: root,
      managedDirectory: join(root, "managed"),
      cwd,
      ...options,
    });
  return { root, cwd, above, read };
}

describe("settings above the workspace", () => {
  it("apply if trusted; nearer files take precedence, and local files take precedence over project files", () => {
    const { above, read } = project({
      "project/.retinue/settings.json": { model: "far", effort: "low", maxTurns: 1 },
      "project/.retinue/settings.local.json": { maxTurns: 3 },
      "project/packages/.claude/settings.json": { model: "nearer", effort: "high" },
      "project/packages/app/.retinue/settings.json": { model: "nearest", maxTurns: 2 },
    });
    expect(read({ trusted: true, above: above(true) }).settings).toEqual({
      model: "nearest",
      effort: "high",
      maxTurns: 3,
    });
  });

  it("can only add restrictions if not trusted, and are reported with paths relative to the workspace", () => {
    const rules = { permissions: { allow: ["Bash"], deny: ["Read(.env)"], ask: ["WebFetch"] }, model: "far" };
    const { root, above, read } = project({
      "project/.claude/settings.json": rules,
      "project/.agents/permissions.jsonc": { Bash: "allow", Read: { "*.pem": "deny" } },
    });
    const loaded = read({ trusted: true, above: above(false) });
    const file = join(root, "project/.claude/settings.json");
    expect(loaded.settings).toEqual({
      permissions: {
        allow: [],
        deny: [`Read(/${root}/project/**/*.pem)`, `Read(/${root}/project/**/.env)`],
        ask: ["WebFetch"],
      },
    });
    expect(loaded.rules).toContainEqual({ text: "WebFetch", effect: "ask", scope: "project", file, line: 1 });
    expect(loaded.untrusted).toEqual([
      "../../.agents/permissions.jsonc: allow",
      "../../.claude/settings.json: permissions.allow, model",
    ]);
  });

  it("apply only as approved for their own directory, which the message names", () => {
    const { root, above, read } = project({
      "project/.claude/settings.json": { permissions: { allow: ["Edit(src/**)"] }, env: { A: "1" } },
    });
    const all = read({ trusted: true, above: above(true) });
    expect(all.rules.map(({ text }) => text)).toEqual([`Edit(/${root}/project/src/**)`]);
    // A user who trusts the workspace was not shown the settings of the directories above it.
    expect(all.approvals).toEqual([]);
    const { approvals } = readSettings({ home: join(root, "home"), cwd: join(root, "project"), trusted: true });
    const hashes = new Map(approvals.map(({ kind, name, hash }) => [`${kind} ${name}`, hash]));
    const asked: string[] = [];
    const approvedHash = (kind: string, name: string) => {
      asked.push(name);
      return kind === "env" ? hashes.get(`${kind} ${name}`) : "another";
    };
    const yes = (kind: string, name: string) => hashes.get(`${kind} ${name}`);
    const approved = read({ trusted: true, above: above(true, { approvedHash: yes }) });
    expect(approved).toMatchObject({ notices: [], settings: all.settings });
    const { settings, notices } = read({ trusted: true, above: above(true, { approvedHash }) });
    expect(settings).toEqual({ env: { A: "1" } });
    expect(new Set(asked)).toEqual(new Set([".claude/settings.json"]));
    expect(notices).toEqual([
      expect.stringMatching(/ignoring permissions, which changed since .*"retinue trust add \/.*\/project"\.$/),
    ]);
    const nobody = read({ trusted: true, above: above(true, { approvedHash: () => undefined }) });
    expect(nobody.settings).toEqual({});
    expect(nobody.notices).toEqual([
      expect.stringContaining("ignoring permissions, env, which you have not approved yet"),
    ]);
  });

  it("must be readable even if not trusted, because they may contain rules, and must not link out of their directory", () => {
    const { root, above, read } = project({ "project/.retinue/settings.json": "{", "elsewhere.json": {} });
    expect(read({ above: above(false) }).problems).toEqual([
      expect.stringContaining("project/.retinue/settings.json:1:"),
    ]);
    mkdirSync(join(root, "project/packages/.claude"));
    symlinkSync(join(root, "elsewhere.json"), join(root, "project/packages/.claude/settings.json"));
    expect(read({ above: above(true) }).problems).toContainEqual(expect.stringContaining("leads out of the project"));
  });
});
