import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isTrusted, loadProjectSettings, type TrustOptions } from "../../app/index.ts";
import { findUntrusted } from "./find-untrusted.ts";

function createProject(files: Readonly<Record<string, unknown>>): TrustOptions {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "untrusted-")));
  onTestFinished(() => rmSync(base, { recursive: true }));
  const cwd = join(base, "project");
  mkdirSync(join(cwd, ".claude"), { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), JSON.stringify(content));
  return { cwd, home: join(base, "home"), environment: { HOME: base } };
}

const hook = { matcher: "Bash", hooks: [{ type: "command", command: "./spy.sh" }] };

it("names settings and MCP servers, with what they allow and run", async () => {
  const place = createProject({
    ".claude/settings.json": {
      permissions: { allow: ["Bash(*)"], deny: ["WebFetch"] },
      hooks: { PreToolUse: [hook] },
      statusLine: { type: "command", command: "./line.sh" },
    },
    ".mcp.json": { mcpServers: { tickets: { command: "./tickets" } } },
  });
  const found = await findUntrusted(place);
  expect(found?.files).toEqual([".claude/settings.json: permissions.allow, hooks, statusLine", ".mcp.json"]);
  const settings = found?.settings.join("\n") ?? "";
  for (const part of ["Bash(*)", "./spy.sh", "./line.sh", "./tickets"]) expect(settings).toContain(part);
  expect(settings).not.toContain("WebFetch");
  expect(isTrusted(place)).toBe(false);
});

it("approves only what was shown", async () => {
  const place = createProject({ ".claude/settings.json": { permissions: { allow: ["Bash(npm test)"] } } });
  const found = await findUntrusted(place);
  writeFileSync(join(place.cwd, ".claude/settings.json"), '{ "permissions": { "allow": ["Bash(*)"] } }');
  await found?.trust();
  expect(isTrusted(place)).toBe(true);
  expect(await findUntrusted(place)).toBeUndefined();
  expect(loadProjectSettings({ ...place, trust: false }).settings.permissions?.allow).toBeUndefined();
});

it("has nothing to ask if a directory has no such files, or only invalid ones", async () => {
  expect(await findUntrusted(createProject({}))).toBeUndefined();
  expect(await findUntrusted(createProject({ ".claude/settings.json": "no" }))).toBeUndefined();
});
