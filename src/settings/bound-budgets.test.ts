import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Settings } from "../protocol/index.ts";
import { type LoadSettingsOptions, loadSettings } from "./index.ts";
import { boundBudgets, mergeSettings, type SettingsLayer } from "./merge-settings.ts";

function place(files: Readonly<Record<string, unknown>>): LoadSettingsOptions {
  const root = mkdtempSync(join(tmpdir(), "retinue-budgets-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries({ "work/.keep": "", ...files })) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), JSON.stringify(content));
  }
  return { home: join(root, "home"), cwd: join(root, "work"), managedDirectory: join(root, "managed"), trusted: true };
}

const mine = "home/settings.json";
const theirs = "work/.retinue/settings.json";

describe("budgets in settings", () => {
  it("are read and checked", () => {
    const value: Settings = {
      budget: { tokens: 1_000_000, usd: 2.5, turns: 200, seconds: 600, spawns: 50, concurrent: 8 },
      subagents: { maxSpawns: 300, timeoutSeconds: 0, idleSeconds: 30 },
    };
    expect(loadSettings(place({ [mine]: value }))).toMatchObject({ settings: value, notices: [] });
  });

  it.each([
    [{ budget: { usd: "5" } }, "budget.usd must be a number"],
    [{ budget: { usd: -1 } }, "budget.usd must be at least 0"],
    [{ budget: { dollars: 5 } }, "budget.dollars is not a known property"],
    [{ budget: { concurrent: 0 } }, "budget.concurrent must be at least 1"],
    [{ budget: 5 }, "budget must be an object"],
    [{ subagents: { maxSpawns: 1.5 } }, "subagents.maxSpawns must be an integer"],
    [{ timeouts: { bash: 601 } }, "timeouts.bash must be at most 600"],
    [{ subagents: { idleSeconds: 0 } }, "subagents.idleSeconds must be at least 1"],
  ])("can't be %j, because an unreadable limit must not mean no limit", (value, problem) => {
    expect(() => loadSettings(place({ [mine]: value }))).toThrowError(problem);
  });

  it("from a project can lower the user's limits but not raise them, and a notice says so", () => {
    const options = place({
      [mine]: { budget: { usd: 5, tokens: 1_000 } },
      [theirs]: { budget: { usd: 50, tokens: 500, turns: 7 }, subagents: { maxSpawns: 5_000, guide: false } },
    });
    const { settings, notices } = loadSettings(options);
    expect(settings).toEqual({ budget: { usd: 5, tokens: 500, turns: 7 }, subagents: { guide: false } });
    expect(notices).toEqual([
      expect.stringMatching(/work\/\.retinue\/settings\.json: budget\.usd 50 is ignored.*lower.*5.*your own settings/),
      expect.stringMatching(/subagents\.maxSpawns 5000 is ignored.*100/),
    ]);
  });

  it("from the command line override every file except managed ones, which set a maximum", () => {
    const options = place({
      [mine]: { budget: { usd: 5, tokens: 5 } },
      [theirs]: { budget: { usd: 1 } },
      "managed/settings.json": { budget: { usd: 20, tokens: 100, spawns: 3 } },
    });
    const at = (usd: number) => loadSettings({ ...options, flags: { budget: { usd } } }).settings.budget;
    expect(at(10)).toEqual({ usd: 10, tokens: 5, spawns: 3 });
    expect(at(100)).toEqual({ usd: 20, tokens: 5, spawns: 3 });
  });
});

describe("boundBudgets", () => {
  const amount = fc.integer({ min: 0, max: 200 });
  const layer = fc.record({
    scope: fc.constantFrom("user", "project", "local", "environment", "flag", "managed"),
    values: fc.record(
      {
        model: fc.constant("m"),
        budget: fc.record({ usd: amount, spawns: amount }, { requiredKeys: [] }),
        subagents: fc.record({ maxSpawns: amount, guide: fc.boolean() }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    ),
  }) as fc.Arbitrary<SettingsLayer>;
  const merged = (layers: readonly SettingsLayer[]) => mergeSettings(boundBudgets(layers).layers).settings;

  it("never lets a project or managed layer raise a limit, and changes nothing else", () => {
    fc.assert(
      fc.property(fc.array(layer, { maxLength: 6 }), layer, (below, top) => {
        const before = merged(below);
        const after = merged([...below, top]);
        const plain = mergeSettings([...below, top]).settings;
        expect([after.model, after.subagents?.guide]).toEqual([plain.model, plain.subagents?.guide]);
        const usd = [before.budget?.usd, after.budget?.usd] as const;
        const spawns = [before.subagents?.maxSpawns, after.subagents?.maxSpawns] as const;
        if (top.scope === "project" || top.scope === "local") {
          expect(usd[1] ?? Infinity).toBeLessThanOrEqual(usd[0] ?? Infinity);
          expect(spawns[1] ?? 100).toBeLessThanOrEqual(spawns[0] ?? 100);
        } else if (top.scope === "managed") {
          const said = (top.values["budget"] as { usd?: number } | undefined)?.usd ?? Infinity;
          expect(usd[1] ?? Infinity).toBe(Math.min(usd[0] ?? Infinity, said));
        } else expect(usd[1]).toBe((top.values["budget"] as { usd?: number } | undefined)?.usd ?? usd[0]);
      }),
    );
  });
});
