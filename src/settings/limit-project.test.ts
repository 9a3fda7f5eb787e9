import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LoadedSettings } from "../protocol/index.ts";
import { type LoadSettingsOptions, readSettings } from "./index.ts";

function projectWith(content: unknown, name = ".claude/settings.json"): LoadSettingsOptions & { cwd: string } {
  const root = mkdtempSync(join(tmpdir(), "retinue-project-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "work");
  write(join(cwd, name), content);
  return { cwd, home: join(root, "home"), userHome: root, managedDirectory: join(root, "managed") };
}

function write(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
}

const everything = {
  model: "opus",
  permissions: { allow: ["Bash"], deny: ["Read(.env)"], ask: ["Edit"], defaultMode: "acceptEdits" },
  env: { GREETING: "hello" },
  hooks: { Stop: [{ hooks: [] }] },
};

describe("an untrusted project", () => {
  it.each([
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".retinue/settings.json",
    ".retinue/settings.local.json",
  ])("can only add restrictions in %s", (name) => {
    const loaded = readSettings(projectWith(everything, name));
    expect(loaded.settings).toEqual({ permissions: { deny: ["Read(.env)"], ask: ["Edit"] } });
    expect(loaded.untrusted).toEqual([`${name}: model, permissions.allow, permissions.defaultMode, env, hooks`]);
    expect(loaded.problems).toEqual([]);
  });

  it("is not reported for invalid values that have no effect anyway", () => {
    expect(readSettings(projectWith({ model: 5, hooks: [] }))).toMatchObject({
      settings: {},
      problems: [],
      notices: [],
    });
  });

  it.each(['{"permissions": ', '{"permissions": {"deny": "Bash"}}', '{"permissions": []}', "[]"])(
    "must have readable rules: %s",
    (content) => {
      expect(readSettings(projectWith(content))).toMatchObject({ settings: {}, problems: [expect.any(String)] });
    },
  );
});

it("a message lists only a limited number of ignored keys", () => {
  const keys = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`key${index}`, 1]));
  const [off = ""] = readSettings(projectWith(keys)).untrusted;
  expect(off).toContain("and 1990 more");
  expect(off.length).toBeLessThan(200);
});

describe("a trusted project", () => {
  it("has its settings applied", () => {
    const { settings, untrusted } = readSettings({ ...projectWith(everything), trusted: true });
    expect(settings).toEqual(everything);
    expect(untrusted).toEqual([]);
  });

  it.each<[unknown, string]>([
    [{ permissions: { defaultMode: "bypassPermissions" } }, "bypassPermissions"],
    [{ apiKeyHelper: "x" }, "apiKeyHelper"],
    [{ awsAuthRefresh: "x" }, "awsAuthRefresh"],
    [{ otelHeadersHelper: "x" }, "otelHeadersHelper"],
    [{ enableAllProjectMcpServers: true }, "enableAllProjectMcpServers"],
    [{ sandbox: { enabled: false } }, "sandbox"],
    [{ environment: { pass: ["DATABASE_URL"] } }, "environment"],
    [{ disableAllHooks: true }, "disableAllHooks"],
    [{ providers: { anthropic: { baseUrl: "http://127.0.0.1:9" } } }, "providers"],
    [{ search: { engine: "searxng", baseUrl: "http://127.0.0.1:9" } }, "search"],
    [{ env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } }, "env.ANTHROPIC_BASE_URL"],
    [{ env: { https_proxy: "http://127.0.0.1:9" } }, "env.https_proxy"],
    [{ env: { OTEL_EXPORTER_OTLP_ENDPOINT: "x" } }, "env.OTEL_EXPORTER_OTLP_ENDPOINT"],
    [{ env: { NODE_OPTIONS: "--require ./evil.cjs" } }, "env.NODE_OPTIONS"],
    [{ env: { LD_PRELOAD: "./evil.so" } }, "env.LD_PRELOAD"],
    [{ env: { HTTPS_PROXY: "http://evil.test:1" } }, "env.HTTPS_PROXY"],
    [{ env: { http_proxy: "http://evil.test:1" } }, "env.http_proxy"],
    [{ env: { ALL_PROXY: "http://evil.test:1" } }, "env.ALL_PROXY"],
    [{ env: { NO_PROXY: "*" } }, "env.NO_PROXY"],
    [{ env: { PATH: "./bin" } }, "env.PATH"],
    [{ env: { GIT_SSH_COMMAND: "./evil" } }, "env.GIT_SSH_COMMAND"],
    [{ env: { BASH_ENV: "./evil" } }, "env.BASH_ENV"],
    [{ env: { RETINUE_HOME: "." } }, "env.RETINUE_HOME"],
  ])("can't set %j", (content, named) => {
    const { origins, notices, problems } = readSettings({ ...projectWith(content), trusted: true });
    expect(origins).toEqual([]);
    expect(notices).toEqual([expect.stringContaining(named)]);
    expect(problems).toEqual([]);
  });

  it("can set harmless values, and all unknown keys are reported at once", () => {
    const content = { env: { GREETING: "x" }, outputStyle: "terse", permissions: { defaultMode: "plan" }, spinner: 1 };
    const { settings, notices } = readSettings({ ...projectWith(content), trusted: true });
    expect(settings).toEqual(content);
    expect(notices).toEqual([expect.stringContaining('"outputStyle" (line 1), "spinner" (line 1)')]);
  });

  it("uses the default for an unknown mode, and drops values of the wrong type", () => {
    const content = { permissions: { defaultMode: "allowEdits", deny: ["A"] }, cleanupPeriodDays: 1, model: 7 };
    const { settings, notices, problems } = readSettings({ ...projectWith(content), trusted: true });
    expect(settings).toEqual({ permissions: { deny: ["A"] } });
    expect(notices.join("\n")).toMatch(/allowEdits.*model.*cleanupPeriodDays/s);
    expect(problems).toEqual([]);
  });

  it.each([{ permissions: { allow: "Bash" } }, { hooks: [] }, { hooks: { Stop: {} } }])(
    "is rejected with an invalid rule or hook: %j",
    (content) => {
      expect(readSettings({ ...projectWith(content), trusted: true }).problems).toHaveLength(1);
    },
  );
});

describe("approvals", () => {
  const load = (options: LoadSettingsOptions, approved: LoadedSettings["approvals"]): LoadedSettings =>
    readSettings({
      ...options,
      trusted: true,
      approvedHash: (kind, name) => approved.find((each) => each.kind === kind && each.name === name)?.hash,
    });

  it("apply to exactly the approved content, whatever the order of its keys", () => {
    const options = projectWith(everything);
    const { approvals } = readSettings({ ...options, trusted: true });
    expect(approvals.map(({ kind, name }) => [kind, name])).toEqual(
      ["permissions", "hooks", "env"].map((kind) => [kind, ".claude/settings.json"]),
    );
    expect(load(options, approvals).settings).toEqual(everything);
    write(join(options.cwd, ".claude/settings.json"), Object.fromEntries(Object.entries(everything).reverse()));
    expect(load(options, approvals).settings).toEqual(everything);
  });

  it("become invalid when the content changes, but old and new restrictions apply without approval", () => {
    const options = projectWith(everything);
    const { approvals } = readSettings({ ...options, trusted: true });
    write(join(options.cwd, ".claude/settings.json"), {
      ...everything,
      permissions: { ...everything.permissions, allow: ["Bash", "WebFetch"], deny: ["Read(.env)", "Write"] },
      hooks: { Stop: [{ hooks: [{ type: "command", command: "changed" }] }] },
    });
    const { settings, notices } = load(options, approvals);
    expect(settings).toEqual({
      model: "opus",
      env: { GREETING: "hello" },
      permissions: { deny: ["Read(.env)", "Write"], ask: ["Edit"] },
    });
    expect(notices).toEqual([expect.stringMatching(/permissions, hooks, which changed .*retinue trust add/)]);
  });

  it("cover the order of lines in a compact file", () => {
    const options = projectWith('{"Bash": {"a": "allow", "b": "deny"}}', ".agents/permissions.jsonc");
    const { approvals, compact } = readSettings({ ...options, trusted: true });
    expect(load(options, approvals).compact).toEqual(compact);
    write(join(options.cwd, ".agents/permissions.jsonc"), '{"Bash": {"b": "deny", "a": "allow"}}');
    expect(load(options, approvals).compact.map(({ effect }) => effect)).toEqual(["deny"]);
  });
});
