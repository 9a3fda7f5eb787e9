import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readdir, readFile, realpath, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createHouse, finish, type House } from "./temporary-house.ts";

const main = `#!/usr/bin/env node
import legacy from "./legacy.cjs";

const [command, argument] = process.argv.slice(2);
if (command === "where") console.log(process.cwd(), argument);
if (command === "exit") process.exit(Number(argument));
if (command === "legacy") console.log(legacy.exists());
if (command === "patch") void patch();
if (command === "wait") {
  process.on("SIGTERM", () => process.exit(7));
  setInterval(() => {}, 1000);
  console.log("ready");
}

async function patch() {
  const { createPatch } = await import("diff");
  const { Readability } = await import("@mozilla/readability");
  console.log(createPatch("a", "b", "c").length > 0, typeof Readability);
}
`;
// Does what CommonJS packages do: loads Node's modules with require(), and uses its own file name.
const legacy =
  'const { existsSync } = require("fs");\nexports.exists = () => existsSync(__filename) && existsSync(__dirname);\n';
const sources = {
  "src/cli/main.ts": main,
  "src/cli/legacy.cjs": legacy,
  "src/index.ts": "export const answer: number = 42;\n",
};

const houses: House[] = [];
afterEach(async () => {
  for (const house of houses.splice(0)) await house.remove();
});

async function build(files: Record<string, string>, ...options: string[]) {
  const house = await createHouse(files);
  houses.push(house);
  return { house, finished: await house.run("build.mjs", ...options) };
}

describe("scripts/build.mjs", { timeout: 120_000 }, () => {
  it("builds the command line and the library if they are stale", async () => {
    const { house, finished } = await build({ ...sources, "src/lib/a.test.ts": "", "src/lib/a.ts": "export {};\n" });
    expect(finished).toEqual({ code: 0, stdout: "", stderr: "" });
    const cli = join(house.directory, "dist/cli.cjs");
    expect((await readFile(cli, "utf8")).startsWith("#!/usr/bin/env node\n")).toBe(true);
    expect((await stat(cli)).mode & 0o111).toBe(0o111);
    const library = join(house.directory, "dist/lib");
    expect(await readFile(join(library, "index.d.ts"), "utf8")).toContain("answer: number");
    expect(await readFile(join(house.directory, "dist/esm/index.js"), "utf8")).toContain("42");
    expect((await readdir(library, { recursive: true })).sort()).toEqual(
      ["index.d.ts", "index.js", "lib", "lib/a.d.ts", "lib/a.js"].map((name) => join(name)),
    );

    await house.write({ "src/index.ts": 'export const answer: number = "no";\n' });
    expect((await house.run("build.mjs", "--cli-only")).code).toBe(0);
    expect(await readFile(join(library, "index.js"), "utf8")).toContain("42");
    const broken = await house.run("build.mjs", "--if-stale");
    expect(broken.code).toBe(1);
    expect(broken.stdout).toContain("src/index.ts(1,14)");
    expect(await readFile(join(library, "index.js"), "utf8")).toContain("42");
  });

  it("supports CommonJS packages, builds only stale parts if requested, and keeps the last good build", async () => {
    const { house } = await build(sources, "--cli-only");
    const cli = join(house.directory, "dist/cli.cjs");
    const asked = await finish(process.execPath, [cli, "legacy"], house.directory);
    expect(asked).toEqual({ code: 0, stdout: "true\n", stderr: "" });
    // This command also uses named exports of modules loaded with import().
    const patched = await finish(process.execPath, [cli, "patch"], house.directory);
    expect(patched).toEqual({ code: 0, stdout: "true function\n", stderr: "" });

    await utimes(cli, 1, 1);
    await house.write({ "src/cli/more.test.ts": "export {};\n" });
    expect((await house.run("build.mjs", "--cli-only", "--if-stale")).code).toBe(0);
    expect((await stat(cli)).mtimeMs).toBe(1000);
    await house.write({ "src/cli/main.ts": 'console.log("changed");\n' });
    expect((await house.run("build.mjs", "--cli-only", "--if-stale")).code).toBe(0);
    expect((await finish(process.execPath, [cli], house.directory)).stdout).toBe("changed\n");

    await house.write({ "src/cli/main.ts": 'import "./gone.ts";\n' });
    const finished = await house.run("build.mjs", "--cli-only");
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain('Could not resolve "./gone.ts"');
    expect((await finish(process.execPath, [cli], house.directory)).stdout).toBe("changed\n");
    expect(await leftovers(house)).toEqual([]);
  });

  it("rejects a command line that loads a slow package at startup", async () => {
    const { finished } = await build({
      "src/cli/main.ts": 'import { fetchPage } from "../tools/fetch.ts";\nfetchPage();\n',
      "src/tools/fetch.ts": 'import { parseHTML } from "linkedom";\nexport const fetchPage = () => parseHTML("");\n',
    });
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain("loads linkedom at startup");
  });

  it("lets only the entry for servers and workers load a WebSocket library", async () => {
    const socket = 'import { WebSocket } from "ws";\nexport const serveCommand = () => typeof WebSocket;\n';
    const create = 'import { createRequire } from "node:module";\nconst load = createRequire(import.meta.filename);\n';
    const main = `${create}console.log(load("./serve.cjs").serveCommand());\n`;
    const { house, finished } = await build(
      { "src/cli/main.ts": main, "src/cli/serve-command.ts": socket },
      "--cli-only",
    );
    expect(finished).toEqual({ code: 0, stdout: "", stderr: "" });
    const cli = join(house.directory, "dist/cli.cjs");
    expect((await finish(process.execPath, [cli], house.directory)).stdout).toBe("function\n");
    await house.write({ "src/cli/main.ts": socket });
    expect((await house.run("build.mjs", "--cli-only")).stderr).toContain("loads ws at startup");
  });

  it("skips parts without source", async () => {
    const { house, finished } = await build({});
    expect(finished.code).toBe(0);
    expect(finished.stderr).toContain("src/cli/main.ts does not exist");
    await expect(access(join(house.directory, "dist"))).rejects.toThrow();
  });

  it("supports several builds at once", async () => {
    const house = await createHouse(sources);
    houses.push(house);
    const options = [["--cli-only"], ["--cli-only", "--if-stale"], ["--cli-only"], ["--cli-only", "--if-stale"]];
    const finished = await Promise.all(options.map((each) => house.run("build.mjs", ...each)));
    expect(finished).toEqual(options.map(() => ({ code: 0, stdout: "", stderr: "" })));
    const cli = join(house.directory, "dist/cli.cjs");
    expect((await finish(process.execPath, [cli, "patch"], house.directory)).stdout).toBe("true function\n");
    expect(await leftovers(house)).toEqual([]);
  });
});

describe("scripts/start.mjs", { timeout: 120_000 }, () => {
  it("builds once, works in the user's directory, and passes on arguments, signals and the exit code", async () => {
    const house = await createHouse(sources);
    houses.push(house);
    const elsewhere = await realpath(await mkdtemp(join(tmpdir(), "retinue-elsewhere-")));
    try {
      const start = ["--silent", "--prefix", house.directory, "start", "--"];
      const first = await finish("npm", [...start, "where", "a b"], elsewhere);
      expect(first).toMatchObject({ code: 0, stdout: `${elsewhere} a b\n` });
      expect(first.stderr).toContain("building the command line");
      const second = await finish("npm", [...start, "exit", "5"], elsewhere);
      expect(second.code).toBe(5);
      expect(second.stderr).not.toContain("building");
      const child = spawn(process.execPath, [join(house.directory, "scripts/start.mjs"), "wait"]);
      await once(child.stdout, "data");
      child.kill("SIGTERM");
      expect(await once(child, "exit")).toEqual([7, null]);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  it("ends with the build's message if there is nothing to run", async () => {
    const house = await createHouse({});
    houses.push(house);
    const finished = await house.run("start.mjs", "where");
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain("the build failed (see above)");
  });
});

async function leftovers(house: House): Promise<string[]> {
  return (await readdir(house.directory)).filter((name) => name.startsWith(".dist-"));
}
