import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSettings, readSettings } from "./index.ts";

function homeWith(text?: string): string {
  const home = mkdtempSync(join(tmpdir(), "retinue-settings-"));
  if (text !== undefined) writeFileSync(join(home, "settings.json"), text);
  return home;
}

describe("loadSettings", () => {
  it("uses defaults if there is no file", () => {
    const loaded = loadSettings({ home: homeWith() });
    expect(loaded).toMatchObject({ settings: {}, files: [], rules: [], notices: [], problems: [], untrusted: [] });
    expect(loaded.file).toBeUndefined();
  });

  it("reads comments and trailing commas", () => {
    const home = homeWith('{ // mine\n "model": "m", "permissions": { "deny": ["Bash",] } }');
    expect(loadSettings({ home }).settings).toEqual({ model: "m", permissions: { deny: ["Bash"] } });
  });

  it("warns about an empty file and unknown keys", () => {
    expect(loadSettings({ home: homeWith(" \n") }).notices[0]).toContain("empty");
    expect(loadSettings({ home: homeWith('{"modle": "m"}') }).notices[0]).toContain('"modle"');
  });

  it("names the line and column of invalid JSON", () => {
    const home = homeWith('{\n  "model": \n}');
    expect(() => loadSettings({ home })).toThrowError(/settings\.json:3:1: /);
  });

  it.each([
    ['{"permissions": {"deny": "Bash"}}', "permissions.deny must be an array"],
    ['{"permissions": {"defaultMode": "yolo"}}', "permissions.defaultMode must be"],
    ['{"providers": {"x": {"baseUrl": "localhost:1"}}}', "providers.x.baseUrl"],
    ['{"maxTurns": 0}', "maxTurns must be at least 1"],
    ["[]", "must be an object"],
    ['{"permissions": {"deny": [{"tool": "Task", "arguments": 1}]}}', "permissions.deny[0]"],
    ['{"permissions": {"deny": [7]}}', "permissions.deny[0] must be a string"],
  ])("rejects %s", (text, problem) => {
    expect(() => loadSettings({ home: homeWith(text) })).toThrowError(problem);
  });

  it("reads rules in object form", () => {
    const home = homeWith('{"permissions": {"deny": [{"tool": "Task", "args": "Explore"}, {"tool": "Bash"}]}}');
    expect(loadSettings({ home }).rules.map(({ text }) => text)).toEqual(["Task(Explore)", "Bash"]);
  });

  it("accepts a byte order mark and CRLF, and warns about duplicate keys", () => {
    const loaded = loadSettings({ home: homeWith('\ufeff{\r\n "model": "a",\r\n "model": "b"\r\n}\r\n') });
    expect(loaded.settings).toEqual({ model: "b" });
    expect(loaded.notices).toEqual([expect.stringMatching(/settings\.json:3:2: .*"model".*twice/)]);
  });

  it.each([
    [
      '{\n  "permisions": {"deny": ["Bash"]}\n}',
      'settings.json:2: unknown key "permisions" has no effect. Did you mean "permissions"?',
    ],
    [
      '{"permissions": {"alow": ["Bash"]}}',
      'settings.json:1: unknown key "permissions.alow" has no effect. Did you mean "permissions.allow"?',
    ],
    [
      '{"providers": {"local": {"baseURL": "http://gateway"}}}',
      'settings.json:1: unknown key "providers.local.baseURL" has no effect. Did you mean "providers.local.baseUrl"?',
    ],
    ['{"subagents": {"nonsense": 1}}', 'settings.json:1: unknown key "subagents.nonsense" has no effect.'],
  ])("suggests the key that was probably meant: %s", (text, notice) => {
    const home = homeWith(text);
    expect(loadSettings({ home }).notices).toEqual([join(home, notice)]);
  });

  it("suggests the value that was probably meant, in a single message", () => {
    const text = '{\n  "model": "m",\n  "sandbox": "requre"\n}';
    expect(() => loadSettings({ home: homeWith(text) })).toThrow(
      /settings\.json:3: sandbox must be "auto", "require" or "off", not "requre"\. Did you mean "require"\?$/,
    );
  });

  it("names the key of an invalid object where a string is also allowed", () => {
    const text = '{\n  "sandbox": {\n    "mode": "requre"\n  }\n}';
    expect(() => loadSettings({ home: homeWith(text) })).toThrow(
      /settings\.json:3: sandbox\.mode must be "auto", "require" or "off", not "requre"\. Did you mean "require"\?$/,
    );
  });

  it("reports a blocked tool that does not exist", () => {
    const home = homeWith('{\n  "subagents": {\n    "blockedTools": ["Bash", "WebFtch", "mcp__db"]\n  }\n}');
    expect(loadSettings({ home }).notices).toEqual([
      `${home}/settings.json:3: subagents.blockedTools: unknown tool "WebFtch"; it has no effect. Did you mean "WebFetch"?`,
    ]);
  });

  it("accepts the status line", () => {
    const statusLine = { type: "command", command: "date +%H:%M", padding: 1 };
    const loaded = loadSettings({ home: homeWith(JSON.stringify({ statusLine })) });
    expect(loaded.settings.statusLine).toEqual(statusLine);
    expect(loaded.notices).toEqual([]);
    expect(() => loadSettings({ home: homeWith('{"statusLine": {"type": "command"}}') })).toThrow(
      /statusLine\.command is required/,
    );
  });

  it("reports all unknown keys in a file at once", () => {
    expect(loadSettings({ home: homeWith('{"x": 1, "toString": 2, "$schema": "y"}') }).notices).toEqual([
      expect.stringContaining('unknown keys "x" (line 1), "toString" (line 1) have no effect'),
    ]);
  });

  it.each<[string, Buffer, string]>([
    ["is too large", Buffer.from(`{"model": "${"m".repeat(1_000_000)}"}`), "but the limit is"],
    ["is not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "UTF-8"],
    ["is UTF-16", Buffer.from("\ufeff{}", "utf16le"), "UTF-8"],
  ])("rejects a file that %s", (_, content, problem) => {
    const home = homeWith();
    writeFileSync(join(home, "settings.json"), content);
    expect(readSettings({ home }).problems).toEqual([expect.stringContaining(problem)]);
  });

  it("rejects anything but a regular file, and never blocks on it", () => {
    const home = homeWith();
    execFileSync("mkfifo", [join(home, "settings.json")]);
    expect(readSettings({ home }).problems).toEqual([
      `${join(home, "settings.json")}: This is not a regular file. Replace it with one.`,
    ]);
  });

  it("returns a deeply frozen object", () => {
    const { settings } = loadSettings({
      home: homeWith('{"permissions": {"deny": ["A"]}, "hooks": {"Stop": [{"a": {}}]}}'),
    });
    const hooks = settings.hooks?.["Stop"] as readonly { readonly a: object }[];
    for (const part of [settings, settings.permissions?.deny, settings.hooks, hooks, hooks[0], hooks[0]?.a]) {
      expect(part).toBeDefined();
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it("reports only hooks in an unknown form, with file and line", () => {
    const home = homeWith(
      '{\n  "hooks": {\n    "Stop": [{ "command": "./a" }],\n    "Setup": [{ "command": "./b" }]\n  }\n}',
    );
    expect(loadSettings({ home }).notices).toEqual([
      expect.stringMatching(/settings\.json:4: Unknown hook event "Setup"/),
    ]);
  });

  it("reports misspelled keys of hooks with their line", () => {
    const home = homeWith(
      '{"hooks": {"PreToolUse": [\n{"matchr": "Bash", "hooks": [\n{"command": "a", "timout": 5, "once": true}]}]}}',
    );
    expect(loadSettings({ home }).notices).toEqual([
      expect.stringMatching(
        /settings\.json:2: The key "matchr" in a hook for "PreToolUse" .* Did you mean "matcher"\?/,
      ),
      expect.stringMatching(/settings\.json:3: The key "timout" .* Did you mean "timeout"\?/),
      expect.stringMatching(/settings\.json:3: The key "once" .* Use type, command, args, timeout\./),
    ]);
  });

  it("reports every invalid value and unknown key of a file that can't be used", () => {
    const options = { home: homeWith('{"budget": {"usd": "1", "turns": -4},\n"modle": "m",\n"model": 3}') };
    const { problems, notices } = readSettings(options);
    expect(problems).toEqual([
      expect.stringMatching(/settings\.json:1: budget\.usd must be a number/),
      expect.stringMatching(/settings\.json:1: budget\.turns must/),
      expect.stringMatching(/settings\.json:3: model must be a string/),
    ]);
    expect(notices).toEqual([expect.stringMatching(/settings\.json:2: unknown key "modle" .* "model"\?/)]);
    expect(() => loadSettings(options)).toThrow(/ \("retinue doctor" also lists 2 other problems\.\)$/);
  });

  it("treats __proto__ as an ordinary key", () => {
    const { settings } = loadSettings({ home: homeWith('{"__proto__": {"model": "evil"}, "model": "m"}') });
    expect(Object.getPrototypeOf(settings)).toBe(Object.prototype);
    expect(settings.model).toBe("m");
    expect(({} as { model?: string }).model).toBeUndefined();
  });

  it("reads environment variables, and prefers Retinue's own", () => {
    const environment = {
      CLAUDE_CODE_ALLOW_MCP_TOOLS_FOR_SUBAGENTS: "1",
      CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50",
      RETINUE_AUTOCOMPACT_PCT: "60",
      CLAUDE_CODE_ENTRYPOINT: "sdk-ts",
      DISABLE_BACKGROUND_TASKS: "true",
    };
    const { settings, origins } = loadSettings({ home: homeWith('{"compaction": {"percent": 90}}'), environment });
    expect(settings).toEqual({
      compaction: { percent: 60 },
      subagents: { mcpTools: "always", background: false, guide: false },
    });
    expect(origins.map(({ scope }) => scope)).toEqual(["environment", "environment", "environment", "environment"]);
    const wrong = loadSettings({ home: homeWith(), environment: { RETINUE_AUTOCOMPACT_PCT: "lots" } });
    expect(wrong.notices).toEqual([expect.stringContaining("RETINUE_AUTOCOMPACT_PCT")]);
    expect(loadSettings({ home: homeWith(), environment: { DISABLE_BACKGROUND_TASKS: "0" } }).settings).toEqual({});
    const ours = loadSettings({ home: homeWith(), environment: { RETINUE_DISABLE_BACKGROUND: "1" } });
    expect(ours.settings).toEqual({ subagents: { background: false } });
  });

  it("rejects a missing file that the user specified, with exit code 2", () => {
    const file = join(homeWith(), "none.json");
    expect(() => loadSettings({ home: homeWith(), file })).toThrowError(
      expect.objectContaining({ exitCode: 2, message: expect.stringContaining("`settingsFile`") }),
    );
  });
});
