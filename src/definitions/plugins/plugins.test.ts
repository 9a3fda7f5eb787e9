import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { installedPlugins, installPlugin, readPluginRecords, writePluginRecords } from "./installed-plugins.ts";
import { readPlugin } from "./read-plugin.ts";

function place(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "retinue-plugin-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const manifest = ".claude-plugin/plugin.json";
const agent = "---\nname: tester\ndescription: Tests. Use after changes.\n---\nTest.\n";

describe("readPlugin", () => {
  it("finds the contents of the standard directories", () => {
    const root = place({
      [manifest]:
        '{"name": "kit", "version": "1.2.0", "dependencies": ["base@^1", {"name": "more"}], "lspServers": {}, "commands": "./extra.md"}',
      "extra.md": "Extra.",
      "commands/git/commit.md": "Commit.",
      "output-styles/short.md": "Short.",
      "agents/tester.md": agent,
      "agents/deep/other.md": agent,
      "agents/notes.txt": "",
      "skills/pdf/SKILL.md": "---\ndescription: Reads PDF.\n---\n",
      "hooks/hooks.json": '{"hooks": {"Stop": []}}',
      ".mcp.json": '{"mcpServers": {"db": {"command": "db-server"}}}',
    });
    const { plugin, diagnostics } = readPlugin(root);
    expect(plugin).toMatchObject({
      name: "kit",
      version: "1.2.0",
      dependencies: [{ name: "base", version: "^1" }, { name: "more" }],
      agentFiles: [join(root, "agents/deep/other.md"), join(root, "agents/tester.md")],
      skillFiles: [join(root, "skills/pdf/SKILL.md")],
      commandFiles: [join(root, "commands/git/commit.md"), join(root, "extra.md")],
      hooks: { Stop: [] },
      mcpServers: { db: { command: "db-server" } },
    });
    expect(diagnostics).toMatchObject([
      {
        severity: "notice",
        code: "unsupported_parts",
        message: 'Parts of the plugin "kit" that are not supported and have no effect: lspServers, output-styles/.',
      },
    ]);
  });

  it("prefers Retinue's own manifest to the compatible one", () => {
    const root = place({ [manifest]: '{"name": "theirs"}', ".retinue-plugin/plugin.json": '{"name": "ours"}' });
    expect(readPlugin(root).plugin?.name).toBe("ours");
  });

  it.each(["../../evil.json", "/etc/passwd", "./a/../../b", "a\\b", "x\0y"])(
    "ignores the path %j, and reports it",
    (path) => {
      const root = place({ [manifest]: JSON.stringify({ name: "kit", hooks: path, agents: [path] }) });
      const { plugin, diagnostics } = readPlugin(root);
      expect(plugin).toMatchObject({ agentFiles: [] });
      expect(plugin).not.toHaveProperty("hooks");
      expect(diagnostics.map(({ code }) => code)).toEqual(["path_outside", "path_outside"]);
    },
  );

  it.each([
    ["{", "manifest_syntax"],
    ["[]", "manifest_shape"],
    ['{"version": "1"}', "plugin_name"],
    ['{"name": "../kit"}', "plugin_name"],
    ['{"name": "Kit"}', "plugin_name"],
  ])("refuses the manifest %j", (text, code) => {
    const { plugin, diagnostics } = readPlugin(place({ [manifest]: text }));
    expect(plugin).toBeUndefined();
    expect(diagnostics).toMatchObject([{ severity: "error", code, line: 1 }]);
  });

  it("refuses links, wherever they lead", () => {
    const root = place({ [manifest]: '{"name": "kit"}', "agents/a.md": agent });
    symlinkSync(join(root, "agents/a.md"), join(root, "agents/b.md"));
    const { plugin, diagnostics } = readPlugin(root);
    expect(plugin).toBeUndefined();
    expect(diagnostics[0]?.message).toContain("agents/b.md is a link");
  });
});

describe("installPlugin", () => {
  it("copies a plugin without .git, leaves it disabled, and refuses a second copy", async () => {
    const home = place({});
    const from = place({
      [manifest]: '{"name": "kit"}',
      "agents/tester.md": agent,
      ".git/hooks/post-checkout": "#!/bin/sh",
    });
    const outcome = await installPlugin(from, { home, source: "here" });
    expect(outcome).toMatchObject({ ok: true, plugin: { root: join(home, "plugins/kit") } });
    expect(installedPlugins(home).plugins).toMatchObject([
      { name: "kit", state: "disabled", record: { source: "here" } },
    ]);
    expect(() => readFileSync(join(home, "plugins/kit/.git/hooks/post-checkout"))).toThrow("ENOENT");
    expect(await installPlugin(from, { home, source: "here" })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/already/),
    });
  });

  it("disables a plugin that has changed since it was approved", async () => {
    const home = place({});
    await installPlugin(place({ [manifest]: '{"name": "kit"}', "agents/a.md": agent }), { home, source: "" });
    const [[name, record] = []] = [...readPluginRecords(home).records];
    await writePluginRecords(home, new Map([[name!, { ...record!, enabled: true }]]));
    expect(installedPlugins(home).plugins).toMatchObject([{ state: "enabled", diagnostics: [] }]);
    writeFileSync(join(home, "plugins/kit/agents/a.md"), `${agent}More.`);
    expect(installedPlugins(home).plugins).toMatchObject([
      { state: "changed", diagnostics: [{ code: "plugin_changed" }] },
    ]);
    rmSync(join(home, "plugins/kit"), { recursive: true });
    expect(installedPlugins(home).plugins).toMatchObject([
      { state: "broken", diagnostics: [{ code: "plugin_missing" }] },
    ]);
  });

  it("uses no plugin if the record can't be read, and never overwrites it", async () => {
    const home = place({ "plugins.json": '{"plugins": {' });
    expect(installedPlugins(home)).toMatchObject({
      plugins: [],
      problem: { file: join(home, "plugins.json"), line: 1, code: "plugins_unreadable" },
    });
    const from = place({ [manifest]: '{"name": "kit"}' });
    expect(await installPlugin(from, { home, source: "" })).toMatchObject({ ok: false });
    expect(readFileSync(join(home, "plugins.json"), "utf8")).toBe('{"plugins": {');
  });
});
