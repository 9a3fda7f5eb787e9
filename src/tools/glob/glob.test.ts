import { execFileSync } from "node:child_process";
import { chmodSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { needsModes } from "../../testing/needs.test-support.ts";
import { createUnprivilegedRipgrep } from "../ripgrep/unprivileged-ripgrep.test-support.ts";
import { testContext } from "../shared/tool-context.test-support.ts";
import { callTool, createToolPlace, type ToolPlace, textOfOutput } from "../shared/tool-place.test-support.ts";
import { createGlobTool, fixedDirectory } from "./glob.ts";

let place: ToolPlace;
let age: number;
/** Creates files, each older than the previous one. */
function put(...names: string[]): void {
  for (const name of names) utimesSync(place.put(name, name), 1_700_000_000 - age, 1_700_000_000 - age++);
}
beforeEach(() => {
  place = createToolPlace();
  age = 0;
});
afterEach(() => place.remove());

describe("Glob", () => {
  const glob = async (
    pattern: string,
    { path, context = testContext() }: { path?: string; context?: ReturnType<typeof testContext> } = {},
  ) => {
    const tool = createGlobTool({ workspace: place.workspace });
    return textOfOutput(await callTool(tool, { pattern, ...(path && { path }) }, context)).split("\n");
  };

  it("finds files by pattern, newest first", async () => {
    put("src/z.ts", "src/deep/er/a.ts", "b.ts", "src/c.js");
    expect(await glob("**/*.ts")).toEqual(["src/z.ts", "src/deep/er/a.ts", "b.ts"]);
    expect(await glob("*.ts")).toEqual(["src/z.ts", "src/deep/er/a.ts", "b.ts"]);
    expect(await glob("src/*.ts")).toEqual(["src/z.ts"]);
    expect(await glob("./src/*.{js,ts}")).toEqual(["src/z.ts", "src/c.js"]);
    expect(await glob("src/{deep,none}/**")).toEqual(["src/deep/er/a.ts"]);
    expect(await glob("src/deep/er/a.ts")).toEqual(["src/deep/er/a.ts"]);
    expect(await glob("*.ts", { path: "src/deep" })).toEqual(["src/deep/er/a.ts"]);
    expect(await glob(`${place.root}/src/*.js`)).toEqual(["src/c.js"]);
  });

  it("reports that nothing was found", async () => {
    put("a.ts");
    expect(await glob("*.rs")).toEqual(["No files found."]);
    expect(await glob("gone/**")).toEqual(["No files found."]);
  });

  it("includes dotfiles, and leaves out .git and ignored files", async () => {
    put(".env", ".github/ci.yml", ".git/config", "dist/x.js", "dist/deep/y.js", "index.js");
    put(".gitignore");
    writeFileSync(join(place.root, ".gitignore"), "dist/\n");
    expect((await glob("**/*")).sort()).toEqual([".env", ".github/ci.yml", ".gitignore", "index.js"]);
    expect(await glob("dist/**")).toEqual(["dist/x.js", "dist/deep/y.js"]);
  });

  it("does not name hidden files", async () => {
    put("a.ts", "secret/b.ts");
    const context = testContext({ hidden: (path) => path.startsWith(join(place.root, "secret")) });
    expect(await glob("**/*.ts", { context })).toEqual(["a.ts"]);
    expect(await glob("secret/*.ts", { context })).toEqual(["No files found."]);
  });

  it("shows a limited number and counts the rest", async () => {
    put(...Array.from({ length: 130 }, (_, index) => `many/f${index}.txt`));
    const lines = await glob("many/*");
    expect(lines.slice(0, 2)).toEqual(["many/f0.txt", "many/f1.txt"]);
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toBe("[30 older files not shown. Use a narrower pattern or path.]");
  });

  it("asks for approval if a pattern leads out of the authorized directory", async () => {
    const outside = createToolPlace();
    outside.put("s.txt", "s");
    symlinkSync(outside.root, join(place.root, "link"));
    for (const pattern of ["link/*", `${outside.root}/*`]) {
      const context = testContext();
      expect((await glob(pattern, { context }))[0]).toContain("not allowed");
      expect(context.asked).toEqual([{ kind: "search", path: outside.root }]);
      expect(await glob(pattern, { context: testContext({ allow: () => true }) })).toEqual([
        join(outside.root, "s.txt"),
      ]);
    }
    expect((await glob("../*"))[0]).toContain("Use `path`");
    expect(await glob("**")).toEqual(["No files found."]);
    outside.remove();
  });

  it("names directories that can't be read", needsModes, async () => {
    put("a.ts", "locked/b.ts");
    chmodSync(join(place.root, "locked"), 0o000);
    const tool = createGlobTool({ workspace: place.workspace, ripgrep: createUnprivilegedRipgrep(place.root) });
    const note = "[Results are incomplete. Could not search: locked (Permission denied).]";
    expect(textOfOutput(await callTool(tool, { pattern: "*.ts" }, testContext()))).toBe(`a.ts\n${note}`);
    expect(textOfOutput(await callTool(tool, { pattern: "*.rs" }, testContext()))).toBe(`No files found.\n${note}`);
    chmodSync(join(place.root, "locked"), 0o700);
  });

  it("does not block on a named pipe", async () => {
    put("a.txt");
    execFileSync("mkfifo", [join(place.root, "pipe.txt")]);
    expect(await glob("a.*")).toEqual(["a.txt"]);
  });

  it("reports a path that is not a directory", async () => {
    put("a.txt");
    expect((await glob("*", { path: "a.txt" }))[0]).toContain("not a directory");
  });
});

describe("fixedDirectory", () => {
  it.each([
    ["*.ts", "", false],
    ["src/*.ts", "src", false],
    ["./src/deep/**/x", "src/deep", false],
    ["src/{a,b}/**", "src", false],
    ["/abs/dir/*.ts", "abs/dir", true],
    ["a/b.ts", "a", false],
  ])("for %s, returns %j", (pattern, directory, absolute) => {
    expect(fixedDirectory(pattern)).toEqual({ directory, absolute });
  });
});
