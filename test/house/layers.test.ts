import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const { modules } = createRequire(import.meta.url)("../../layers.cjs") as { modules: Record<string, unknown> };

// Files to plant: each has one line, and the rules that must report it. Without rules, the import is allowed.
const plants: { file: string; line: string; rules: string[] }[] = [
  { file: "src/loop/planted-fs.ts", line: 'import "node:fs";', rules: ["loop-builtins"] },
  { file: "src/loop/planted-type.ts", line: 'import type {} from "node:fs";', rules: ["loop-builtins"] },
  { file: "src/permissions/planted-fs.ts", line: 'import "fs";', rules: ["permissions-builtins"] },
  { file: "src/lib/planted-module.ts", line: 'import "../protocol/index.ts";', rules: ["lib-modules"] },
  { file: "src/lib/planted-package.ts", line: 'import "eventsource-parser";', rules: ["lib-packages"] },
  { file: "src/lib/planted-dev-package.ts", line: 'import "typescript";', rules: ["lib-packages"] },
  {
    file: "src/tools/planted-inside-import.ts",
    line: 'import "../lib/planted-inside.ts";',
    rules: ["lib-entry-point"],
  },
  {
    file: "src/tools/planted-module-and-inside.ts",
    line: 'import "../workspace/planted-inside.ts";',
    rules: ["tools-modules", "workspace-entry-point"],
  },
  { file: "src/cli/planted-runs.ts", line: 'import "../runs/index.ts";', rules: ["cli-modules"] },
  { file: "src/protocol/planted-package.ts", line: 'import "eventsource-parser";', rules: ["protocol-packages"] },
  {
    file: "src/app/planted-testing.ts",
    line: 'import "../testing/index.ts";',
    rules: ["app-modules", "testing-stays-out"],
  },
  { file: "src/app/planted-test-code.ts", line: 'import "./planted.test-support.ts";', rules: ["no-test-code"] },
  { file: "src/app/planted-nowhere.ts", line: 'import "./gone.ts";', rules: ["no-unresolved"] },
  { file: "src/hooks/planted-a.ts", line: 'import "./planted-b.ts";', rules: ["no-circular"] },
  { file: "src/planted-entry.ts", line: 'import "./runs/index.ts";', rules: ["library-entry"] },
  { file: "src/cellar/planted.ts", line: 'import "../lib/index.ts";', rules: ["known-module"] },

  { file: "src/planted-good-entry.ts", line: 'export {} from "./app/index.ts";', rules: [] },
  { file: "src/loop/planted-good.ts", line: 'import "../lib/index.ts";', rules: [] },
  { file: "src/loop/planted.test.ts", line: 'import "node:fs";\nimport "../workspace/planted-inside.ts";', rules: [] },
  { file: "src/model/planted-good-package.ts", line: 'import "eventsource-parser";', rules: [] },
  { file: "src/tools/planted-good.ts", line: 'import "turndown";\nimport "@mozilla/readability";', rules: [] },
  { file: "src/runs/tools/planted-good.ts", line: 'import "../planted-good.ts";', rules: [] },
];
const targets = [
  ...["protocol", "lib", "runs", "testing", "app"].map((name) => `src/${name}/index.ts`),
  "src/lib/planted-inside.ts",
  "src/workspace/planted-inside.ts",
  "src/app/planted.test-support.ts",
  "src/runs/planted-good.ts",
];

/**
 * Modules to check. A few modules are enough to show that real source files are found, because `npm run check` checks
 * all of them.
 */
const realModules = ["protocol", "ports", "loop", "hooks"];

interface Cruise {
  modules: { source: string; dependencies: unknown[] }[];
  summary: { violations: { from: string; rule: { name: string } }[] };
}

let copy: string;
let cruise: Cruise;

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "retinue-layers-"));
  const copied = realModules.map((name) => `src/${name}`);
  for (const name of [...copied, "package.json", "tsconfig.json", "layers.cjs", ".dependency-cruiser.cjs"]) {
    await cp(join(root, name), join(copy, name), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  for (const { file, line } of plants) await plant(file, line);
  await plant("src/hooks/planted-b.ts", 'import "./planted-a.ts";');
  for (const file of targets) await plant(file, "export const a = 1;");
  cruise = await depcruise(copy);
}, 60_000);

afterAll(() => rm(copy, { recursive: true, force: true }));

describe("layers.cjs", () => {
  it("covers every file in the modules and its imports", async () => {
    const onDisk = (await readdir(join(copy, "src"), { recursive: true })).filter((name) => name.endsWith(".ts"));
    expect(onDisk.length).toBeGreaterThan(plants.length + targets.length + 50);
    const seen = cruise.modules.filter((module) => module.source.startsWith("src/"));
    expect(seen.map((module) => module.source).sort()).toEqual(
      expect.arrayContaining(onDisk.map((name) => `src/${name.replaceAll("\\", "/")}`).sort()),
    );
    expect(seen.flatMap((module) => module.dependencies).length).toBeGreaterThan(plants.length);
  });

  it.each(plants)("$file: $rules", ({ file, rules }) => {
    const found = cruise.summary.violations.filter((violation) => violation.from === file);
    expect([...new Set(found.map((violation) => violation.rule.name))].sort()).toEqual(rules);
  });

  it("lists every folder in src/", async () => {
    const entries = await readdir(join(root, "src"), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    expect(folders.filter((name) => !(name in modules))).toEqual([]);
  });
});

async function plant(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(copy, file)), { recursive: true });
  // An existing entry point is left unchanged because the real modules may import from it.
  await writeFile(join(copy, file), `${text}\n`, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function depcruise(directory: string): Promise<Cruise> {
  const bin = join(root, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");
  const run = promisify(execFile)(process.execPath, [bin, "src", "--output-type", "json"], {
    cwd: directory,
    maxBuffer: 256 * 1024 * 1024,
  });
  const { stdout } = await run;
  return JSON.parse(stdout) as Cruise;
}
