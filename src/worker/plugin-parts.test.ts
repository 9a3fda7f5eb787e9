import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { addPlugin, disablePlugin, enablePlugin } from "../app/commands/plugins.ts";
import { readProject } from "./read-project.ts";

const variable = "$".concat("{CLAUDE_PLUGIN_ROOT}");

it("returns the hooks of an enabled plugin with its directory, and reports hooks that never run", async () => {
  const root = mkdtempSync(join(tmpdir(), "retinue-plugin-hooks-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const kit = join(root, "kit");
  mkdirSync(join(kit, ".claude-plugin"), { recursive: true });
  mkdirSync(join(kit, "hooks"));
  writeFileSync(join(kit, ".claude-plugin/plugin.json"), '{"name": "kit"}');
  const program = { type: "command", command: "node", args: [`${variable}/stop.js`] };
  const hooks = {
    PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: `${variable}/check.sh` }] }],
    Stop: [{ hooks: [program, { type: "prompt", prompt: "x" }] }],
  };
  writeFileSync(join(kit, "hooks/hooks.json"), JSON.stringify({ hooks }, null, 1));
  const mcpServers = { db: { command: "db" }, log: "npx log" };
  writeFileSync(join(kit, ".mcp.json"), JSON.stringify({ mcpServers }, null, 1));
  const home = join(root, "home");
  const { plugin } = await addPlugin(kit, { home, environment: {} });
  const place = { root, home, environment: { HOME: root } };
  const partsNow = async () => (await readProject(place, { trusted: false, required: false })).snapshot.plugins;
  expect((await partsNow()).hooks).toEqual([]);
  await enablePlugin(home, { name: "kit", hash: plugin.hash });
  const pluginRoot = join(home, "plugins/kit");
  const file = join(pluginRoot, "hooks/hooks.json");
  expect(await partsNow()).toEqual({
    hooks: [
      // The shell expands the variable from its environment.
      { pluginRoot, where: `${file}:5`, event: "PreToolUse", matcher: "Bash", command: `${variable}/check.sh` },
      { pluginRoot, where: `${file}:19`, event: "Stop", command: "node", args: [join(pluginRoot, "stop.js")] },
    ],
    mcpServers: { "kit:db": { command: "db" } },
    serverPlaces: { "kit:db": `${join(pluginRoot, ".mcp.json")}:3` },
    notices: [
      expect.stringMatching(/hooks\.json:14: Plugin "kit": .*"prompt"/),
      expect.stringMatching(
        /\.mcp\.json:6: Plugin "kit": The MCP server "log" is not used, because its configuration is not an object/,
      ),
    ],
  });
  await disablePlugin(home, "kit");
  expect((await partsNow()).hooks).toEqual([]);
});
