import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memoryDirectory, memoryIndex } from "./memory-index.ts";

let place = "";
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-memory-")));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

describe("the directory", () => {
  const at = { stateHome: "/home/me/.retinue", projectRoot: "/work/p" };
  it.each([
    ["user", "/home/me/.retinue/agent-memory/reviewer"],
    ["project", "/work/p/.retinue/agent-memory/reviewer"],
    ["local", "/work/p/.retinue/agent-memory-local/reviewer"],
  ] as const)("of scope %s", (scope, directory) => {
    expect(memoryDirectory({ scope, agent: "reviewer", ...at })).toBe(directory);
  });

  it("is one folder of its own for any name", () => {
    const directory = (agent: string) => memoryDirectory({ scope: "user", agent, ...at });
    const anyName = fc.oneof(
      fc.string(),
      fc.constantFrom("..", ".", "a/../b", "plugin:name", "é", "\0", "%2e", "x".repeat(400)),
    );
    fc.assert(
      fc.property(anyName, anyName, (one, other) => {
        expect(dirname(directory(one))).toBe("/home/me/.retinue/agent-memory");
        expect(basename(directory(one))).toMatch(/^[A-Za-z0-9_%-]{1,120}$/);
        expect(directory(one) === directory(other)).toBe(one === other);
      }),
    );
  });
});

describe("the index", () => {
  const write = (text: string) => {
    const directory = join(place, "a");
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "MEMORY.md"), text);
    return { directory, within: place };
  };

  it("is the file as long as it is short", () => {
    const request = write("one\r\ntwo\n");
    expect(memoryIndex(request)).toEqual({ file: join(place, "a/MEMORY.md"), text: "one\ntwo", cut: false });
  });

  it("is 200 lines or 25 KB of it at most", () => {
    const lines = Array.from({ length: 201 }, (_, index) => `line ${index}`);
    expect(memoryIndex(write(`${lines.slice(0, 200).join("\n")}\n`))?.cut).toBe(false);
    expect(memoryIndex(write(lines.join("\n")))).toMatchObject({ text: lines.slice(0, 200).join("\n"), cut: true });
    const wide = memoryIndex(write(`x${"é".repeat(20_000)}`));
    expect(wide?.cut).toBe(true);
    expect(wide?.text).toBe(`x${"é".repeat((25 * 1024) / 2 - 1)}`);
  });

  it("is undefined where there is none, it is empty, or links lead elsewhere", () => {
    expect(memoryIndex({ directory: join(place, "none"), within: place })).toBeUndefined();
    expect(memoryIndex(write("\n"))).toBeUndefined();
    write("text");
    mkdirSync(join(place, "project"));
    symlinkSync(join(place, "a"), join(place, "project/folder"));
    const within = join(place, "project");
    expect(memoryIndex({ directory: join(within, "folder"), within })).toBeUndefined();
    symlinkSync(join(place, "a/MEMORY.md"), join(within, "MEMORY.md"));
    expect(memoryIndex({ directory: within, within })).toBeUndefined();
  });
});
