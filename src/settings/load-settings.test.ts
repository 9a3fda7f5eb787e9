import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSettings } from "./index.ts";

function homeWith(text?: string): string {
  const home = mkdtempSync(join(tmpdir(), "retinue-settings-"));
  if (text !== undefined) writeFileSync(join(home, "settings.json"), text);
  return home;
}

describe("loadSettings", () => {
  it("has defaults where there is no file", () => {
    expect(loadSettings({ home: homeWith() })).toEqual({ settings: {}, notices: [] });
  });

  it("reads comments and trailing commas", () => {
    const home = homeWith('{ // mine\n "model": "m", "permissions": { "deny": ["Bash",] } }');
    expect(loadSettings({ home }).settings).toEqual({ model: "m", permissions: { deny: ["Bash"] } });
  });

  it("warns of an empty file and of keys nobody reads", () => {
    expect(loadSettings({ home: homeWith(" \n") }).notices[0]).toContain("empty");
    expect(loadSettings({ home: homeWith('{"modle": "m"}') }).notices[0]).toContain('"modle"');
  });

  it("names the line and column of what it can't read", () => {
    const home = homeWith('{\n  "model": \n}');
    expect(() => loadSettings({ home })).toThrowError(/settings\.json:3:1: /);
  });

  it.each([
    ['{"permissions": {"deny": "Bash"}}', "permissions.deny must be an array"],
    ['{"permissions": {"defaultMode": "yolo"}}', "permissions.defaultMode must be"],
    ['{"providers": {"x": {"baseUrl": "localhost:1"}}}', "providers.x.baseUrl"],
    ['{"maxTurns": 0}', "maxTurns must be at least 1"],
    ["[]", "must be an object"],
  ])("refuses %s", (text, problem) => {
    expect(() => loadSettings({ home: homeWith(text) })).toThrowError(problem);
  });

  it("refuses a file that was named and is not there, with exit code 2", () => {
    const file = join(homeWith(), "none.json");
    expect(() => loadSettings({ home: homeWith(), file })).toThrowError(
      expect.objectContaining({ exitCode: 2, cure: expect.stringContaining("--settings") }),
    );
  });
});
