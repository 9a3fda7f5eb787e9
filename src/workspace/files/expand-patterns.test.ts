import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { isRoot, needs } from "../../testing/needs.test-support.ts";
import { expandPatterns, walkDirectory } from "./expand-patterns.ts";

const names = ["a", "b", "ab", "A", ".a", ".ab", "a b", "-a", "[a]", "a*", "\\", "é", "a1", "1", "]", "!a"];
let root = "";

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "expand-")));
  for (const directory of ["d", "d/e", ".h", "other/deep"]) mkdirSync(join(root, directory), { recursive: true });
  for (const name of names) for (const place of ["", "d", "d/e", ".h"]) writeFileSync(join(root, place, name), "x");
  symlinkSync("other/deep", join(root, "link"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const expand = async (pattern: string) => (await expandPatterns([pattern], { root, home: join(root, "d") }))[0];

it("matches the same files as bash, or more if locales differ", async () => {
  const piece = fc.constantFrom(
    ..."a b A * ? . / d e [ab] [!a] [^.a] [a-b] [[:alpha:]] [[:digit:]a] []a] [!]a] [a [] - \\* \\[ \\\\ \\a é ! ] .. d/ .* 1".split(
      " ",
    ),
  );
  const word = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(""));
  const samples = fc.sample(word, { numRuns: 800, seed: 5 }).filter((text) => !text.startsWith("/"));
  const output = execFileSync("bash", ["--norc", "--noprofile"], {
    input: `x() { printf '%s\\0' "$@"; }\n${samples.map((text) => `x ${text}\nprintf 'END'`).join("\n")}\n`,
    cwd: root,
    encoding: "utf8",
    env: { LC_ALL: "C.UTF-8" },
  });
  const given = output.split("END").slice(0, -1);
  let exact = 0;
  for (const [index, text] of samples.entries()) {
    const found = await expand(text);
    if (found === undefined) continue;
    const wanted = given[index]!.split("\0").slice(0, -1).map(placeOf);
    expect([text, wanted.filter((path) => !found.includes(path))]).toEqual([text, []]);
    // Versions of bash treat `.` and `..` differently, and locales differ in ranges and in letters outside ASCII.
    const certain = (paths: readonly string[]) => [...new Set(paths)].filter((path) => !path.includes("é")).sort();
    if (!/\.|\[a-b\]/.test(text)) expect([text, certain(found)]).toEqual([text, certain(wanted)]);
    exact += 1;
  }
  expect(exact).toBeGreaterThan(500);
});

/** Returns the path that the system opens for a relative path. */
function placeOf(path: string): string {
  let place = root;
  for (const name of path.split("/")) {
    if (name === "..") place = join(realpathSync(place), "..");
    else place = join(place, name);
  }
  return place;
}

it("resolves `..` after a symlink as the system does", async () => {
  expect(await expand("link/../x")).toEqual([join(root, "other/x")]);
  expect(await expand("d/../a")).toEqual([join(root, "a")]);
  expect(await expand("missing/../a")).toBeUndefined();
});

it("supports the home directory, absolute paths and quoted characters", async () => {
  expect(await expand("~/a?")).toEqual(["a*", "a1", "ab"].map((name) => join(root, "d", name)));
  expect(await expand("\\~/a?")).toEqual([join(root, "~/a?")]);
  expect(await expand(`${root}/d/a\\*`)).toEqual([join(root, "d/a*")]);
});

it("does not guess if the result depends on the locale or is too large", async () => {
  expect(await expand("[[.a.]]")).toBeUndefined();
  expect(await expand("[[=a=]]*")).toBeUndefined();
  const many = join(root, "many");
  mkdirSync(many);
  for (let index = 0; index < 1_100; index += 1) writeFileSync(join(many, `f${index}`), "");
  expect(await expand("many/*")).toBeUndefined();
  expect(await expand("many/f1?")).toHaveLength(10);
});

it("does not guess if a directory can't be read", needs("a user other than root", !isRoot), async () => {
  const locked = join(root, "locked");
  mkdirSync(locked);
  onTestFinished(() => rmdirSync(locked));
  chmodSync(locked, 0o100);
  expect(await expand("locked/*")).toBeUndefined();
});

it("takes little time for a pattern with many stars", async () => {
  writeFileSync(join(root, "d/e", "a".repeat(200)), "");
  expect(await expand(`d/e/${"*a".repeat(2_000)}b`)).toHaveLength(1);
});

it("walks directories, and follows symlinks only if requested", async () => {
  symlinkSync("..", join(root, "other/up"));
  const found = async (follows: boolean) =>
    (await walkDirectory(join(root, "other"), { follows }))!.map(({ path }) => path);
  expect(await found(false)).toEqual([join(root, "other/deep"), join(root, "other/up")]);
  expect(await found(true)).toContain(join(root, "other/up/d/e/a"));
  expect(await walkDirectory(join(root, "a"), { follows: false })).toEqual([{ path: join(root, "a"), kind: "file" }]);
  expect(await walkDirectory(join(root, "missing"), { follows: false })).toEqual([]);
});
