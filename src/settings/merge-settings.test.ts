import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { type LoadSettingsOptions, loadSettings, readSettings } from "./index.ts";
import { mergeSettings, type SettingsLayer } from "./merge-settings.ts";

/** Every file that can contain settings, lowest precedence first. */
const places = [
  "user/.claude/settings.json",
  "home/settings.json",
  "work/.claude/settings.json",
  "work/.retinue/settings.json",
  "work/.claude/settings.local.json",
  "work/.retinue/settings.local.json",
  "managed/settings.json",
  "managed/settings.d/10.json",
  "managed/settings.d/20.json",
] as const;

function place(files: Readonly<Record<string, unknown>>): LoadSettingsOptions & { root: string; cwd: string } {
  const root = mkdtempSync(join(tmpdir(), "retinue-merge-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  const at = (name: string): string => join(root, name);
  return { root, cwd, home: at("home"), userHome: at("user"), managedDirectory: at("managed"), trusted: true };
}

describe("settings from several files", () => {
  it.each(places.map((name, index) => [name, places.slice(0, index)] as const))(
    "%s overrides everything below it",
    (name, below) => {
      const files = Object.fromEntries([...below, name].map((each) => [each, { model: each }]));
      const options = place(files);
      const { settings, origins } = loadSettings(options);
      expect(settings).toEqual({ model: name });
      expect(origins).toEqual([expect.objectContaining({ path: "model", file: join(options.root, name) })]);
    },
  );

  it("have their lists combined and their mappings merged, record each rule's scope and file, and rank flags below managed files", () => {
    const options = place({
      "home/settings.json": { env: { A: "1", B: "1" }, permissions: { deny: ["U"] } },
      "work/.claude/settings.json": { env: { B: "2" }, permissions: { deny: ["P", "U"], allow: ["Read(a)"] } },
      "managed/settings.json": { maxTurns: 3, permissions: { deny: ["M"] } },
    });
    const loaded = loadSettings({ ...options, flags: { maxTurns: 9, effort: "low", permissions: { deny: ["F"] } } });
    expect(loaded.settings).toEqual({
      env: { A: "1", B: "2" },
      effort: "low",
      maxTurns: 3,
      permissions: { deny: ["U", "P", "F", "M"], allow: ["Read(a)"] },
    });
    expect(loaded.rules.map(({ text, effect, scope }) => `${scope} ${effect} ${text}`).sort()).toEqual([
      "flag deny F",
      "managed deny M",
      "project allow Read(a)",
      "project deny P",
      "project deny U",
      "user deny U",
    ]);
    expect(loaded.origins.find(({ path }) => path === "permissions.deny[1]")).toMatchObject({
      value: "P",
      scope: "project",
      file: join(options.root, "work/.claude/settings.json"),
    });
  });

  it("keep the user's hooks in addition to a project's", () => {
    const entry = (command: string) => ({ hooks: { PreToolUse: [{ hooks: [{ type: "command", command }] }] } });
    const options = place({ "home/settings.json": entry("mine"), "work/.retinue/settings.json": entry("theirs") });
    expect(loadSettings(options).settings.hooks?.["PreToolUse"]).toHaveLength(2);
  });

  it("keep the line order of compact files, which never allow what a list denies", () => {
    const options = place({
      "home/permissions.jsonc": '{ "Bash": { "git *": "allow", "git push *": "deny" }, "*": "allow" } // mine',
      "work/.agents/permissions.jsonc": { Read: { "*.env": "deny" }, WebFetch: "ask" },
      "work/.retinue/permissions.jsonc": { Edit: { "docs/**": "allow" } },
    });
    const { compact, rules } = loadSettings(options);
    expect(compact.map(({ scope, tool, pattern, effect }) => [scope, tool, pattern, effect])).toEqual([
      ["user", "Bash", "git *", "allow"],
      ["user", "Bash", "git push *", "deny"],
      ["user", "*", undefined, "allow"],
      ["project", "Read", "*.env", "deny"],
      ["project", "WebFetch", undefined, "ask"],
      ["project", "Edit", "docs/**", "allow"],
    ]);
    expect(rules.map(({ effect, text }) => `${effect} ${text}`)).toEqual([
      "allow Bash(git *)",
      "deny Bash(git push *)",
      "deny Read(*.env)",
      "ask WebFetch",
      "allow Edit(docs/**)",
    ]);
    const untrusted = loadSettings({ ...options, trusted: false });
    expect(untrusted.rules.filter(({ scope }) => scope === "project").map(({ text }) => text)).toEqual([
      "Read(*.env)",
      "WebFetch",
    ]);
    expect(untrusted.untrusted).toEqual([".retinue/permissions.jsonc: allow"]);
  });

  it.each([{ Bash: "perhaps" }, { Bash: { "rm *": "no" } }, { Bash: ["deny"] }, ["deny"], { "": "deny" }])(
    "reject the compact file %j",
    (content) => {
      expect(readSettings(place({ "work/.retinue/permissions.jsonc": content })).problems).toHaveLength(1);
    },
  );

  it.each([
    ['{\n  "Bash": "alow"\n}', 2, '"Bash" must be "allow"'],
    ['{\n  "Bash": {\n    "git *": 5\n  }\n}', 3, '"git *" of "Bash" must be'],
    ['{\n  "edit": "deny", "*.env2": "deny"\n}', 2, '"*.env2" is a pattern for files, not a tool. Write "read"'],
    ['{\n  "sub/secret": "ask"\n}', 2, '"sub/secret" is a pattern for files'],
  ])("name the line of a mistake in the compact file %j", (content, line, message) => {
    const [problem = ""] = readSettings(place({ "home/permissions.jsonc": content })).problems;
    expect(problem).toContain(`permissions.jsonc:${line}: ${message}`);
  });

  it("include the user's files as the user's own, not the project's, if the project is the home directory", () => {
    const options = place({ "user/.claude/settings.json": { permissions: { allow: ["Edit"] } } });
    const cwd = join(options.root, "user");
    expect(loadSettings({ ...options, cwd, trusted: false })).toMatchObject({
      rules: [{ text: "Edit", scope: "user" }],
      untrusted: [],
    });
  });

  it("exclude a project's file that links out of the project, but not one that links within it", () => {
    const options = place({ "elsewhere.json": { model: "evil" }, "work/inner.json": { model: "inner" } });
    mkdirSync(join(options.cwd, ".claude"));
    symlinkSync(join(options.root, "elsewhere.json"), join(options.cwd, ".claude/settings.json"));
    expect(readSettings(options)).toMatchObject({ settings: {}, problems: [expect.stringContaining("leads out")] });
    rmSync(join(options.cwd, ".claude/settings.json"));
    symlinkSync("../inner.json", join(options.cwd, ".claude/settings.json"));
    expect(readSettings(options)).toMatchObject({ settings: { model: "inner" }, problems: [] });
  });

  it("exclude .claude or .retinue if it links out of the project", () => {
    const options = place({ "elsewhere/settings.json": { model: "evil" } });
    symlinkSync(join(options.root, "elsewhere"), join(options.cwd, ".retinue"));
    expect(readSettings(options).settings).toEqual({});
    expect(readSettings(options).problems).toEqual([expect.stringContaining("leads out")]);
  });
});

describe("mergeSettings", () => {
  const texts = fc.array(fc.constantFrom("A", "B", "C", "D"), { maxLength: 3 });
  const values = fc.record(
    {
      model: fc.constantFrom("a", "b"),
      permissions: fc.record({ allow: texts, ask: texts, deny: texts }, { requiredKeys: [] }),
      env: fc.dictionary(fc.constantFrom("X", "__proto__", "toString"), fc.constantFrom("1", "2")),
    },
    { requiredKeys: [] },
  );
  const layers = fc.array(
    fc.record({ scope: fc.constantFrom("user", "project", "local", "flag", "managed"), values }),
    { maxLength: 5 },
  ) as fc.Arbitrary<SettingsLayer[]>;

  it("never loses a deny or ask rule, whichever layer it is in, and adds nothing else", () => {
    fc.assert(
      fc.property(layers, fc.nat(), (all, where) => {
        const added: SettingsLayer = { scope: "project", values: { permissions: { deny: ["New"], ask: ["Too"] } } };
        const index = where % (all.length + 1);
        const before = mergeSettings(all).settings;
        const after = mergeSettings([...all.slice(0, index), added, ...all.slice(index)]).settings;
        const sorted = (list: readonly string[] = []): string[] => [...list].sort();
        expect(sorted(after.permissions?.deny)).toEqual(sorted([...(before.permissions?.deny ?? []), "New"]));
        expect(sorted(after.permissions?.ask)).toEqual(sorted([...(before.permissions?.ask ?? []), "Too"]));
        expect(sorted(after.permissions?.allow)).toEqual(sorted(before.permissions?.allow));
        expect(after.model).toBe(before.model);
      }),
    );
  });

  it("takes single values from the highest layer, and gives every value one origin", () => {
    fc.assert(
      fc.property(layers, (all) => {
        const { settings, origins } = mergeSettings(all);
        expect(settings.model).toBe(all.findLast((layer) => layer.values["model"] !== undefined)?.values["model"]);
        expect(new Set(origins.map(({ path }) => path)).size).toBe(origins.length);
        const denied = all.flatMap((layer) => (layer.values["permissions"] as { deny?: string[] })?.deny ?? []);
        expect(new Set(settings.permissions?.deny)).toEqual(new Set(denied));
      }),
    );
  });
});
