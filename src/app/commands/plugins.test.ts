import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { expect, it, onTestFinished } from "vitest";
import { addPlugin, listPlugins } from "./plugins.ts";

it("loses no plugin when several processes add and enable plugins at once", async () => {
  const root = mkdtempSync(join(tmpdir(), "retinue-plugins-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const program = join(root, "add-plugins.mjs");
  buildSync({
    entryPoints: [join(import.meta.dirname, "add-plugins.test-support.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: program,
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  const names = Array.from({ length: 20 }, (_, index) => `kit-${index}`);
  for (const name of names) {
    mkdirSync(join(root, name, ".retinue-plugin"), { recursive: true });
    writeFileSync(join(root, name, ".retinue-plugin/plugin.json"), JSON.stringify({ name }));
  }
  const home = join(root, "home");
  const adders = [0, 1, 2, 3].map((index) => {
    const own = names.slice(index * 5, index * 5 + 5).map((name) => join(root, name));
    return spawn(process.execPath, [program, home, ...own], { stdio: ["pipe", "pipe", "inherit"] });
  });
  await Promise.all(adders.map((adder) => once(adder.stdout, "data")));
  const ended = adders.map((adder) => once(adder, "exit"));
  for (const adder of adders) adder.stdin.end();
  expect(await Promise.all(ended)).toEqual(adders.map(() => [0, null]));
  const plugins = listPlugins(home);
  expect(plugins.map(({ name, state }) => `${name} ${state}`).sort()).toEqual(
    names.map((name) => `${name} enabled`).sort(),
  );
  expect(readdirSync(home).sort()).toEqual(["plugins", "plugins.json"]);
});

it("names a path that is not a directory, and says what to pass instead", async () => {
  const root = mkdtempSync(join(tmpdir(), "retinue-plugins-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const file = join(root, "kit.md");
  writeFileSync(file, "text");
  for (const source of [file, join(root, "gone")]) {
    const adding = addPlugin(source, { home: join(root, "home"), environment: {} });
    await expect(adding).rejects.toMatchObject({
      message: `There is no directory ${source}. Specify a directory that contains a plugin, or the URL of a git repository.`,
      exitCode: 2,
    });
  }
});
