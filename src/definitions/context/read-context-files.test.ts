import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { contextText, findImports, readContextFiles } from "./read-context-files.ts";

let place = "";
let home = "";
let root = "";

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-context-")));
  home = join(place, "home");
  root = join(place, "project");
  mkdirSync(home);
  mkdirSync(root);
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

function write(file: string, text: string | Uint8Array): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const inProject = (name: string, text: string | Uint8Array) => write(join(root, name), text);

function read(below: readonly string[] = [], maxBytes?: number) {
  const nearestFirst = [root, ...below.map((name) => join(root, name))].reverse();
  const limit = maxBytes === undefined ? {} : { maxBytes };
  return readContextFiles({ home, stateHome: join(home, ".retinue"), levels: { root, nearestFirst }, ...limit });
}

const told = ({ files }: ReturnType<typeof read>) => files.map(({ text }) => text.trim());
const codes = ({ diagnostics }: ReturnType<typeof read>) => diagnostics.map(({ code, line }) => [code, line]);

describe("context files", () => {
  it("are ordered from general to specific", () => {
    write(join(home, ".claude/CLAUDE.md"), "user");
    inProject("AGENTS.md", "root agents");
    inProject("CLAUDE.md", "root claude\r\nsecond");
    inProject("a/AGENTS.md", "a");
    inProject("a/b/CLAUDE.md", "b");
    const result = read(["a", "a/b"]);
    expect(told(result)).toEqual(["user", "root agents", "root claude\nsecond", "a", "b"]);
    expect(result.diagnostics).toEqual([]);
    const text = contextText(result.files);
    expect(text).toBe(contextText(read(["a", "a/b"]).files));
    expect(text).toContain(`Contents of ${join(root, "AGENTS.md")} (the project's instructions):\n\nroot agents\n`);
    expect(contextText([])).toBeUndefined();
  });

  it("are included only once, even if they are also linked, copied or imported", () => {
    inProject("AGENTS.md", "the same");
    symlinkSync("AGENTS.md", join(root, "CLAUDE.md"));
    inProject("a/AGENTS.md", "the same");
    inProject("b/AGENTS.md", "of b");
    inProject("b/CLAUDE.md", "@AGENTS.md\n");
    expect(told(read(["a", "b"]))).toEqual(["the same", "of b", "@AGENTS.md"]);
  });

  it("are followed by the files that they import", () => {
    inProject("AGENTS.md", "See @docs/one.md and @./docs/two.md.");
    inProject("docs/one.md", "one @two.md");
    inProject("docs/two.md", "two");
    write(join(home, "notes.md"), "notes");
    inProject("CLAUDE.md", "@~/notes.md");
    const result = read();
    expect(told(result)).toEqual([
      "See @docs/one.md and @./docs/two.md.",
      "one @two.md",
      "two",
      "@~/notes.md",
      "notes",
    ]);
    expect(result.files[2]?.importedBy).toBe(join(root, "docs/one.md"));
    expect(result.diagnostics).toEqual([]);
  });

  it("with circular, missing or too deeply nested imports are reported", () => {
    inProject("AGENTS.md", "\n@a.md @gone.md @someone");
    inProject("a.md", "@AGENTS.md");
    expect(codes(read())).toEqual([
      ["import_cycle", 1],
      ["import_missing", 2],
    ]);
    inProject("AGENTS.md", "@1.md");
    for (let index = 1; index <= 7; index += 1) inProject(`${index}.md`, `@${index + 1}.md`);
    const deep = read();
    expect(told(deep)).toEqual(["@1.md", "@2.md", "@3.md", "@4.md", "@5.md", "@6.md"]);
    expect(codes(deep)).toEqual([["import_too_deep", 1]]);
  });

  it("never include files outside the project or secrets from the home directory, even through links", () => {
    write(join(place, "outside.md"), "secret");
    write(join(home, ".ssh/key.md"), "secret");
    write(join(home, "token"), "secret");
    symlinkSync(join(place, "outside.md"), join(root, "link.md"));
    inProject("AGENTS.md", "@../outside.md\n@~/.ssh/key.md\n@~/token\n@link.md\n@/etc/passwd");
    symlinkSync(join(place, "outside.md"), join(root, "CLAUDE.md"));
    const result = read();
    expect(result.files).toHaveLength(1);
    expect(codes(result)).toEqual([
      ["context_outside", 1],
      ["context_outside", 2],
      ["context_outside", 3],
      ["context_outside", 4],
      ["context_outside", 5],
      ["context_outside", 1],
    ]);
  });

  it("are cut off at the limit, with a notice to the model and the user", () => {
    inProject("AGENTS.md", "x".repeat(60));
    inProject("CLAUDE.md", "y".repeat(60));
    inProject("a/AGENTS.md", "z");
    const result = read(["a"], 100);
    expect(result.files.map(({ text }) => text.replace(/\n.*/, "").length)).toEqual([60, 40]);
    expect(result.files[1]?.text).toContain("[Cut here");
    expect(codes(result)).toEqual([
      ["context_too_large", 1],
      ["context_too_large", 1],
    ]);
  });

  it("must be text", () => {
    inProject("AGENTS.md", new Uint8Array([1, 0, 2]));
    expect(codes(read())).toEqual([["context_not_text", 1]]);
  });

  it("include only the user's own file if there is no project", () => {
    write(join(home, ".agents/AGENTS.md"), "mine");
    write(join(home, ".claude/CLAUDE.md"), "other");
    inProject("AGENTS.md", "project");
    const levels = { root: "", nearestFirst: [] };
    const { files } = readContextFiles({ home, stateHome: join(home, ".retinue"), levels });
    expect(files.map(({ text, source }) => [text, source])).toEqual([["mine", "user"]]);
  });
});

describe("imports", () => {
  it.each([
    ["@a.md", ["a.md"]],
    ["see @a.md, (@b.md) and @c/d.md.", ["a.md", "b.md", "c/d.md"]],
    ["mail me@example.md", []],
    ["`@a.md` and ``x ` @b.md``", []],
    ["```\n@a.md\n```\n@b.md", ["b.md"]],
    ["~~~~ts\n@a.md\n~~~\n@b.md\n~~~~\n@c.md", ["c.md"]],
    ["    @code.md", []],
    ["@", []],
  ])("are found in %j", (text, paths) => {
    expect(findImports(text).map(({ path }) => path)).toEqual(paths);
  });
});
