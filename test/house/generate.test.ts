import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { createHouse, type House, root } from "./temporary-house.ts";

let house: House;
afterEach(() => house.remove());

const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
const generated = () => join(house.directory, "src/tools/descriptions.ts");

describe("scripts/generate.mjs", () => {
  it("writes the descriptions, sorted by their camelCase names", async () => {
    house = await createHouse({
      "src/tools/web-fetch/web-fetch.md": 'Fetches "one" page.\r\n\r\nNot `more` \\ less.\r\n',
      "src/tools/read/read.md": "Reads.\n\n",
      "src/tools/shared/path.ts": "export {};\n",
    });
    expect((await house.run("generate.mjs")).code).toBe(0);
    const text = await readFile(generated(), "utf8");
    expect(text).toMatch(/^\/\/ Generated from src\/tools/);
    const { descriptions } = await import(pathToFileURL(generated()).href);
    expect(Object.entries(descriptions)).toEqual([
      ["read", "Reads."],
      ["webFetch", 'Fetches "one" page.\n\nNot `more` \\ less.'],
    ]);
  });

  it("--check fails until the file is up to date, and writes nothing", async () => {
    house = await createHouse({ "src/tools/read/read.md": "Reads.\n" });
    expect((await house.run("generate.mjs", "--check")).stderr).toContain("Run `npm run generate`");
    await expect(readFile(generated())).rejects.toThrow();
    await house.run("generate.mjs");
    expect((await house.run("generate.mjs", "--check")).code).toBe(0);
    await house.write({ "src/tools/read/read.md": "Reads a file.\n" });
    expect((await house.run("generate.mjs", "--check")).code).toBe(1);
    expect(await readFile(generated(), "utf8")).not.toContain("Reads a file.");
  });

  it("reports a description without a tool", async () => {
    house = await createHouse({ "src/tools/read/raed.md": "Reads.\n", "src/tools/write/write.md": "\n" });
    const { code, stderr } = await house.run("generate.mjs");
    expect(code).toBe(1);
    expect(stderr).toContain("src/tools/read/raed.md: rename this tool description to read.md");
    expect(stderr).toContain("src/tools/write/write.md is empty");
  });

  it("draws the modules in layers.cjs, without arrows that a longer path makes redundant", async () => {
    const modules = "{ lib: [], ports: [], loop: ['lib'], runs: ['loop', 'ports'], app: ['runs', 'loop'] }";
    const table = `Object.fromEntries(Object.entries(${modules}).map(([name, modules]) => [name, { modules }]))`;
    const page = (diagram: string) => `# Modules\n\n\`\`\`mermaid\n${diagram}\`\`\`\n`;
    house = await createHouse({
      "docs/architecture.md": page(""),
      "layers.cjs": `module.exports = { modules: ${table} };\n`,
    });
    expect((await house.run("generate.mjs", "--check")).code).toBe(1);
    await house.run("generate.mjs");
    const drawn = await readFile(join(house.directory, "docs/architecture.md"), "utf8");
    expect(drawn).toBe(page("flowchart TD\n  runs --> loop\n  app --> runs\n"));
    expect((await house.run("generate.mjs", "--check")).code).toBe(0);
  });

  it("lists the public interface without code, and requires doc comments", async () => {
    house = await createHouse({
      // The standard library takes the compiler longer than everything else.
      "tsconfig.json": JSON.stringify({ compilerOptions: { ...compilerOptions, noLib: true } }),
      "src/index.ts": 'export { add, type Sum as Total, UNIT } from "./add.ts";\n',
      "src/add.ts": [
        "interface Part {\n  readonly value: number;\n}\n",
        "/** A sum. */\nexport interface Sum {\n  readonly parts: readonly Part[];\n}\n",
        "/** Adds up. */\nexport function add(...parts: readonly Part[]): Sum {\n  return { parts };\n}\n",
        'export const UNIT = "EUR";\n',
      ].join("\n"),
    });
    expect((await house.run("generate.mjs")).stderr).toContain("src/add.ts: UNIT has no doc comment");
    const page = await readFile(join(house.directory, "docs/reference/retinue.md"), "utf8");
    expect(page).toContain("/** Adds up. */\nfunction add(...parts: readonly Part[]): Sum;\n");
    expect(page).toContain("/** A sum. */\n// Exported as Total.\ninterface Sum {\n");
    expect(page).toContain("const UNIT: string;\n");
    expect(page).toMatch(/## Types that the exports use\n\n```ts\ninterface Part \{/);
    await house.write({ "src/add.ts": "export {};\n" });
    expect((await house.run("generate.mjs", "--check")).stderr).toContain("docs/reference/retinue.md is stale");
  });

  it("has nothing to do if there are no tools", async () => {
    house = await createHouse({});
    expect(await house.run("generate.mjs", "--check")).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});
