import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./temporary-house.ts";

it("importing the library loads a few small files and no package", () => {
  const files = new Set<string>();
  const packages = new Set<string>();
  const follow = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    // Also matches imports in the middle of a line, because minified code has few line breaks. Does not match calls to
    // import().
    const imports = readFileSync(file, "utf8").matchAll(/(?:^|[;}])import\s*(?:[\w*{][^"()]*?from\s*)?"([^"]+)"/gm);
    for (const [, name = ""] of imports) {
      if (name.startsWith(".")) follow(join(dirname(file), name));
      else if (!name.startsWith("node:")) packages.add(name);
    }
  };
  follow(join(root, "dist/esm/index.js"));
  expect([...packages]).toEqual([]);
  expect(files.size).toBeGreaterThan(1);
  expect(files.size).toBeLessThan(20);
  // The code for sessions is larger than a megabyte and is loaded with the first session.
  const bytes = [...files].reduce((sum, file) => sum + statSync(file).size, 0);
  expect(bytes).toBeLessThan(250_000);
});

it("an uncaught error prints a few lines, not the library", () => {
  const program = 'import { openSession } from "./dist/esm/index.js"; await openSession({ modle: "x" });';
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: root,
    encoding: "utf8",
  });
  expect(stderr).toContain('UserError: openSession has no option "modle"');
  expect(stderr.length).toBeLessThan(4000);
});
