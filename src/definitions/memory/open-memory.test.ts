import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memoryDirectory, memoryIndex, openMemory } from "./open-memory.ts";

let place = "";
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-memory-")));
  mkdirSync(join(place, "project/.retinue"), { recursive: true });
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

const open = (scope: "user" | "project" | "local", agent = "reviewer") =>
  openMemory({ scope, agent, stateHome: join(place, "home/.retinue"), projectRoot: join(place, "project") });

it("opens a memory directory that does not exist yet, and creates nothing", () => {
  expect(open("user")).toEqual({
    ok: true,
    exists: false,
    directory: join(place, "home/.retinue/agent-memory/reviewer"),
  });
  expect(existsSync(join(place, "home"))).toBe(false);
});

it("reads the index once a note has been written", () => {
  const directory = join(place, "project/.retinue/agent-memory-local/reviewer");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "MEMORY.md"), "- tabs\n");
  expect(open("local")).toEqual({ ok: true, exists: true, directory, index: "- tabs", cut: false });
});

it("returns a real path if there are links above the base", () => {
  mkdirSync(join(place, "disk"));
  symlinkSync(join(place, "disk"), join(place, "home"));
  expect(open("user")).toEqual({
    ok: true,
    exists: false,
    directory: join(place, "disk/.retinue/agent-memory/reviewer"),
  });
});

it.each([
  ["the project's folder", "project/.retinue/agent-memory", "../src"],
  ["the agent's own folder", "project/.retinue/agent-memory/reviewer", "../../.git"],
  ["a folder that points to nothing", "project/.retinue/agent-memory", "/nowhere/at/all"],
])("ignores the memory if %s is a link", (_, link, target) => {
  mkdirSync(join(place, link, ".."), { recursive: true });
  symlinkSync(target, join(place, link));
  expect(open("project")).toEqual({ ok: false, problem: `${join(place, link)} is a link` });
});

it("ignores the memory if a file is in its place", () => {
  writeFileSync(join(place, "project/.retinue/agent-memory"), "");
  const file = join(place, "project/.retinue/agent-memory");
  expect(open("project")).toEqual({ ok: false, problem: `${file} is not a directory` });
});

it.each([
  ["a directory", (file: string) => mkdirSync(file, { recursive: true })],
  ["a link", (file: string) => symlinkSync("/etc/hostname", file)],
])("ignores the memory if its index is %s", (_, make) => {
  const file = join(place, "project/.retinue/agent-memory/reviewer/MEMORY.md");
  mkdirSync(dirname(file), { recursive: true });
  make(file);
  expect(open("project")).toEqual({ ok: false, problem: `${file} is not a readable file` });
});

it("ignores a memory below a relative state directory, which a project could provide", () => {
  const projectRoot = join(place, "project");
  const opened = openMemory({ scope: "user", agent: "reviewer", stateHome: "home", projectRoot });
  expect(opened).toEqual({ ok: false, problem: "home is not an absolute path" });
});

it("keeps the memory in its folder, whatever the agent's name", () => {
  const parts = fc.constantFrom("..", ".", "/", "\\", "~", "\0", "a", "%2e%2e", "…", ":", " ");
  const name = fc.array(parts, { maxLength: 8 }).map((all) => all.join(""));
  fc.assert(
    fc.property(name, (agent) => {
      const opened = open("project", agent);
      const folder = opened.ok ? opened.directory.slice(join(place, "project/.retinue/agent-memory/").length) : "";
      expect(folder).toMatch(/^[A-Za-z0-9_%-]+$/);
    }),
  );
});

describe("the directory", () => {
  const at = { stateHome: "/home/me/.retinue", projectRoot: "/work/p" };
  it.each([
    ["user", "/home/me/.retinue/agent-memory/reviewer"],
    ["project", "/work/p/.retinue/agent-memory/reviewer"],
    ["local", "/work/p/.retinue/agent-memory-local/reviewer"],
  ] as const)("depends on the scope: %s", (scope, directory) => {
    expect(memoryDirectory({ scope, agent: "reviewer", ...at })).toBe(directory);
  });

  it("is a separate folder for every name", () => {
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

  it("is the whole file if it is short", () => {
    const request = write("one\r\ntwo\n");
    expect(memoryIndex(request)).toEqual({ file: join(place, "a/MEMORY.md"), text: "one\ntwo", cut: false });
  });

  it("is limited to 200 lines or 25 KB", () => {
    const lines = Array.from({ length: 201 }, (_, index) => `line ${index}`);
    expect(memoryIndex(write(`${lines.slice(0, 200).join("\n")}\n`))?.cut).toBe(false);
    expect(memoryIndex(write(lines.join("\n")))).toMatchObject({ text: lines.slice(0, 200).join("\n"), cut: true });
    const wide = memoryIndex(write(`x${"é".repeat(20_000)}`));
    expect(wide?.cut).toBe(true);
    expect(wide?.text).toBe(`x${"é".repeat((25 * 1024) / 2 - 1)}`);
  });

  it("is undefined if it is missing or empty, or if links lead elsewhere", () => {
    expect(memoryIndex({ directory: join(place, "none"), within: place })).toBeUndefined();
    expect(memoryIndex(write("\n"))).toBeUndefined();
    write("text");
    symlinkSync(join(place, "a"), join(place, "project/folder"));
    const within = join(place, "project");
    expect(memoryIndex({ directory: join(within, "folder"), within })).toBeUndefined();
    symlinkSync(join(place, "a/MEMORY.md"), join(within, "MEMORY.md"));
    expect(memoryIndex({ directory: within, within })).toBeUndefined();
  });
});
