import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Settings } from "../../protocol/index.ts";
import { createLocalWorker } from "../../worker/index.ts";
import { systemClock } from "../system-clock.ts";
import { loadProjectSettings } from "./project-settings.ts";
import { loadWorkerSettings } from "./worker-settings.ts";

/** A machine with a state directory and a workspace. */
function createMachine(user: Settings | string) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-machine-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const place = { home: join(root, "state"), root: join(root, "work") };
  for (const directory of Object.values(place)) mkdirSync(directory);
  writeFileSync(join(place.home, "settings.json"), typeof user === "string" ? user : JSON.stringify(user));
  const environment = { PATH: process.env["PATH"], HOME: root };
  const state = place.home;
  const worker = createLocalWorker({
    ...place,
    state,
    environment,
    clock: systemClock,
    version: "0",
    report: () => {},
  });
  const own = () => loadProjectSettings({ home: place.home, cwd: place.home, environment, trust: false });
  return { ...place, worker, own };
}

it("takes models from the session's machine, permissions from the worker's, and restrictions from both", async () => {
  const server = createMachine({
    model: "large",
    provider: "anthropic",
    env: { ANTHROPIC_API_KEY: "server" },
    budget: { usd: 2, turns: 9 },
    permissions: { allow: ["Bash"], deny: ["WebFetch"], disableBypassPermissionsMode: "disable" },
  });
  const { worker } = createMachine({
    model: "small",
    providers: { mine: { baseUrl: "http://127.0.0.1:1" } },
    env: { ANTHROPIC_API_KEY: "worker" },
    budget: { usd: 5, tokens: 100 },
    permissions: { allow: ["Bash(npm test)"], deny: ["Read(secret)"] },
    maxTurns: 7,
  });
  const { settings, rules, origins } = await loadWorkerSettings({ worker, own: server.own() });
  expect(settings).toMatchObject({
    model: "large",
    provider: "anthropic",
    env: { ANTHROPIC_API_KEY: "server" },
    maxTurns: 7,
    budget: { usd: 2, tokens: 100, turns: 9 },
  });
  expect(settings.providers).toBeUndefined();
  expect(settings.permissions?.disableBypassPermissionsMode).toBe("disable");
  const texts = (effect: string) => rules.filter((rule) => rule.effect === effect).map(({ text }) => text);
  expect(texts("allow")).toEqual(["Bash(npm test)"]);
  expect(texts("deny").sort()).toEqual(["Read(secret)", "WebFetch"]);
  expect(JSON.stringify(origins)).not.toContain("worker");
});

it.each([
  ["the server's", { profile: "compact" }, {}],
  ["the server's, whatever the worker says", { profile: "compact" }, { profile: "standard" }],
  ["the worker's, whatever the server says", { profile: "standard" }, { profile: "compact" }],
] as const)("applies the compact profile if it is in the settings: %s", async (_, ours, theirs) => {
  const { worker } = createMachine(theirs);
  const { settings } = await loadWorkerSettings({ worker, own: createMachine(ours).own() });
  expect(settings.profile).toBe("compact");
});

it.each([
  ["auto", "suggest", "auto"],
  ["suggest", "auto", "auto"],
  ["suggest", "off", "suggest"],
  [undefined, "suggest", "suggest"],
  ["off", undefined, undefined],
] as const)("has work verified as either machine wants it: %s and %s", async (ours, theirs, verify) => {
  const { worker } = createMachine(theirs ? { verify: theirs } : {});
  const { settings } = await loadWorkerSettings({ worker, own: createMachine(ours ? { verify: ours } : {}).own() });
  expect(settings.verify).toBe(verify);
});

it("uses the worker's settings unchanged if it is on the same machine", async () => {
  const { worker } = createMachine({ model: "small", budget: { usd: 5 } });
  const { settings } = await loadWorkerSettings({ worker, flags: { budget: { usd: 1 } } });
  expect(settings).toMatchObject({ model: "small", budget: { usd: 1 } });
});

it("refuses invalid settings on the worker, because they may contain rules", async () => {
  const { worker, root } = createMachine('{"permissions": {"deny": ["Bash"');
  await expect(loadWorkerSettings({ worker })).rejects.toThrow(`The settings for ${root} can't be used: `);
});
