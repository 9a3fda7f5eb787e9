import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LoadedSettings } from "../protocol/index.ts";
import { createTrustStore, hashApproval, readSettings } from "./index.ts";

interface Row {
  readonly id: string;
  readonly family: string;
  readonly setup: { readonly trusted: boolean; readonly files: Readonly<Record<string, unknown>> };
  readonly acceptable: readonly string[];
  readonly check: string;
}

const rows = readFileSync(join(import.meta.dirname, "fixtures/attacks.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

interface Place {
  readonly root: string;
  readonly cwd: string;
  read(options?: { readonly trusted?: boolean }): LoadedSettings;
}

function place(files: Readonly<Record<string, unknown>>): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-attack-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  const read: Place["read"] = ({ trusted = false } = {}) =>
    readSettings({ home: join(root, "home"), userHome: root, managedDirectory: join(root, "managed"), cwd, trusted });
  return { root, cwd, read };
}

describe("before a project is trusted, its files can't relax permissions, change settings or run programs", () => {
  const files = rows.filter(({ family }) => family === "pre-trust-exec" || family === "self-trust");
  it.each(files.map((row) => [row.id, row] as const))("%s", (_, { setup }) => {
    const { settings, rules, problems } = place(setup.files).read();
    expect(settings).toEqual({});
    expect(rules).toEqual([]);
    expect(problems).toEqual([]);
  });
});

describe("what no project can do, trusted or not", () => {
  const never = [
    ["DEFINITIONS-010", "run a helper for keys"],
    ["DEFINITIONS-011", "run a helper for credentials"],
    ["DEFINITIONS-012", "run a helper for headers"],
    ["DEFINITIONS-014", "approve its own servers"],
    ["DEFINITIONS-028", "turn off questions"],
    ["DEFINITIONS-032", "redirect requests"],
    ["DEFINITIONS-033", "set a proxy"],
    ["DEFINITIONS-035", "redirect telemetry"],
    ["DEFINITIONS-036", "replace the sandbox programs"],
    ["DEFINITIONS-037", "turn off the sandbox"],
  ];
  it.each(never)("%s: %s", (id) => {
    const row = rows.find((each) => each.id === id);
    const { origins, notices } = place(row?.setup.files ?? {}).read({ trusted: true });
    expect(origins).toEqual([]);
    expect(notices).toEqual([expect.stringContaining("which a project can't set")]);
  });
});

const start = (files: Readonly<Record<string, unknown>>, holds: (loaded: LoadedSettings) => boolean): string => {
  const loaded = place(files).read({ trusted: true });
  if (loaded.problems.length > 0) return "error";
  return holds(loaded) ? "allow" : "looser";
};
const settings = (value: unknown) => ({ ".claude/settings.json": value });

/** Trusts one directory, and returns "allow" or "ask" for another one. */
async function trustThenOpen(arrange: (root: string) => { trusted: string; opened: () => string }): Promise<string> {
  const { root } = place({});
  const { trusted, opened } = arrange(root);
  const store = createTrustStore({ stateHome: join(root, "state") });
  mkdirSync(trusted, { recursive: true });
  await store.add(realpathSync(trusted));
  return store.isTrusted(realpathSync(opened())) ? "allow" : "ask";
}

async function approveThenChange(kind: string, [before, after]: readonly [unknown, unknown]): Promise<string> {
  const store = createTrustStore({ stateHome: place({}).root });
  await store.add("/project", [{ kind, name: "x", hash: hashApproval(before) }]);
  expect(store.approvedHash("/project", { kind, name: "x" })).toBe(hashApproval(structuredClone(before)));
  return store.approvedHash("/project", { kind, name: "x" }) === hashApproval(after) ? "allow" : "ask";
}

const directory = (path: string): string => {
  mkdirSync(path, { recursive: true });
  return path;
};

const scenarios: Readonly<Record<string, () => string | Promise<string>>> = {
  "DEFINITIONS-040": () =>
    trustThenOpen((root) => ({
      trusted: join(root, "trusted"),
      opened: () => {
        const git = directory(join(root, "other/.git"));
        writeFileSync(join(git, "commondir"), join(root, "trusted/.git"));
        return dirname(git);
      },
    })),
  "DEFINITIONS-041": () =>
    trustThenOpen((root) => ({
      trusted: join(root, "parent"),
      opened: () => dirname(directory(join(root, "parent/nested/.git"))),
    })),
  "DEFINITIONS-042": () =>
    trustThenOpen((root) => ({
      trusted: join(root, "trusted"),
      opened: () => {
        renameSync(join(root, "trusted"), join(root, "moved"));
        symlinkSync(directory(join(root, "evil")), join(root, "trusted"));
        return join(root, "trusted");
      },
    })),
  "DEFINITIONS-044": () =>
    approveThenChange("mcpServers", [
      { command: "server", args: ["a"], env: {} },
      { command: "server", args: ["b"], env: {} },
    ]),
  "DEFINITIONS-045": () => approveThenChange("hooks", [{ Stop: [{ command: "a" }] }, { Stop: [{ command: "b" }] }]),
  "DEFINITIONS-047": () =>
    trustThenOpen((root) => ({ trusted: join(root, "project"), opened: () => directory(join(root, "Project")) })),
  "DEFINITIONS-048": () => {
    const { root } = place({});
    writeFileSync(join(root, "trust.json"), '{"version": 1, "trusted": [{"path": "/project"');
    const store = createTrustStore({ stateHome: root });
    return store.isTrusted("/project") || store.problem === undefined ? "allow" : "ask";
  },
  "DEFINITIONS-078": () => start(settings('{"permissions": {"deny": ["Bash"]},}}'), () => false),
  "DEFINITIONS-081": () =>
    start(settings({ permissions: { deny: ["Nobody", "Bash"] } }), ({ rules }) => rules.length === 2),
  "DEFINITIONS-083": () =>
    start(
      settings({ permissions: { defaultMode: "allowEdits" } }),
      (loaded) => loaded.settings.permissions?.defaultMode === undefined && loaded.notices.length === 1,
    ),
  "DEFINITIONS-084": () => start(settings({ permissions: { allow: "Bash" } }), () => false),
  "DEFINITIONS-085": () => start(settings({ hooks: [] }), () => false),
};

describe("scenarios", () => {
  const told = rows.filter(({ setup }) => "scenario" in setup.files);
  it.each(told.map((row) => [row.id, row] as const))("%s", async (id, row) => {
    expect(row.acceptable).toContain(await scenarios[id]?.());
  });
});
