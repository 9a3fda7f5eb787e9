import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePathPattern, identifyingName } from "./path-pattern.ts";

const place = { roots: ["/w/proj"], homes: ["/home/u"] };
const wide = (pattern: string, path: string) => compilePathPattern(pattern, { ...place, wide: true })(path);
const narrow = (pattern: string, path: string) => compilePathPattern(pattern, { ...place, wide: false })(path);

describe("path patterns", () => {
  it("with one leading slash start at the directory of their file; restrictions also apply in the workspace", () => {
    const mine = { ...place, source: "/home/u" };
    const matches = (isWide: boolean, path: string) => compilePathPattern("/src/**", { ...mine, wide: isWide })(path);
    expect([matches(false, "/home/u/src/a"), matches(false, "/w/proj/src/a")]).toEqual([true, false]);
    expect([matches(true, "/home/u/src/a"), matches(true, "/w/proj/src/a")]).toEqual([true, true]);
    expect(compilePathPattern("./src/**", { ...mine, wide: false })("/w/proj/src/a")).toBe(true);
  });

  it.each([
    ["//etc/**", "/etc/passwd"],
    ["//etc", "/etc/ssl/key"],
    ["~/.aws/**", "/home/u/.aws/credentials"],
    ["/conf/*.json", "/w/proj/conf/a.json"],
    ["./.env", "/w/proj/.env"],
    [".env", "/w/proj/deep/er/.env"],
    [".env*", "/w/proj/.env.local"],
    ["*.pem", "/w/proj/a/b.pem"],
    ["secrets/", "/w/proj/x/secrets/key"],
    ["secrets/**", "/w/proj/x/secrets/key"],
    ["a/**/z", "/w/proj/a/z"],
    ["a/**/z", "/w/proj/a/b/c/z"],
    ["../other/**", "/w/other/x"],
    ["[!a-c]?x", "/w/proj/dyx"],
    ["./Secrets/**", "/w/proj/secrets/key"],
    ["\\*", "/w/proj/*"],
  ])("deny %s applies to %s", (pattern, path) => expect(wide(pattern, path)).toBe(true));

  it.each([
    ["//etc/**", "/w/proj/etc/x"],
    ["/etc/**", "/etc/passwd"],
    [".env", "/other/.env"],
    [".env", "/w/proj/.environment"],
    ["./a/*", "/w/proj/b/a/x"],
    ["[a-c]x", "/w/proj/dx"],
    ["~/x", "/home/u2/x"],
    ["\\*", "/w/proj/a"],
  ])("deny %s does not apply to %s", (pattern, path) => expect(wide(pattern, path)).toBe(false));

  it.each([
    ["src/**", "/w/proj/src/a/b.ts", true],
    ["src/**", "/w/proj/vendor/src/b.ts", false],
    ["src", "/w/proj/src/b.ts", false],
    ["SRC/**", "/w/proj/src/b.ts", false],
    ["*.md", "/w/proj/docs/a.md", true],
    ["*", "/etc/shadow", false],
    ["**", "/w/proj/a/b", true],
    ["docs/", "/w/proj/docs/a", true],
  ])("allow %s for %s: %s", (pattern, path, expected) => expect(narrow(pattern, path)).toBe(expected));

  it("apply in every workspace root in deny rules, but only in the first in allow rules", () => {
    const roots = ["/w/proj", "/w/more"];
    expect(compilePathPattern("./x", { roots, homes: [], wide: true })("/w/more/x")).toBe(true);
    expect(compilePathPattern("./x", { roots, homes: [], wide: false })("/w/more/x")).toBe(false);
  });

  it("restrict everywhere and allow nowhere if the home directory is unknown", () => {
    expect(compilePathPattern("~/.ssh/**", { roots: [], homes: [], wide: true })("/root/.ssh/id")).toBe(true);
    expect(compilePathPattern("~/.ssh/**", { roots: [], homes: [], wide: false })("/root/.ssh/id")).toBe(false);
  });

  it("are matched quickly even if they are malicious", () => {
    const pattern = `//${"*a".repeat(100)}b/${"**/x/".repeat(50)}y`;
    expect(wide(pattern, `/${"a".repeat(250)}/${"x/".repeat(1_000)}`)).toBe(false);
  });

  it("match their own text, and never match more in allow rules than in deny rules", () => {
    const name = fc.stringMatching(/^[a-z.][a-z0-9.]{0,5}$/).filter((text) => !/^\.{1,2}$/.test(text));
    fc.assert(
      fc.property(
        fc.array(name, { minLength: 1, maxLength: 4 }),
        fc.array(fc.constantFrom("*", "**", "a", "b?"), { minLength: 1, maxLength: 3 }),
        (names, wild) => {
          const path = `/${names.join("/")}`;
          expect(narrow(`/${path}`, path)).toBe(true);
          const pattern = wild.join("/");
          if (narrow(pattern, `/w/proj${path}`)) expect(wide(pattern, `/w/proj${path}`)).toBe(true);
        },
      ),
    );
  });
});

it.each([
  ["~/.ssh/**", { name: ".ssh", whole: true }],
  ["./.env", { name: ".env", whole: true }],
  [".env*", { name: ".env", whole: false }],
  ["**/*.pem", { name: ".pem", whole: false }],
  ["**", undefined],
])("identifyingName finds the characteristic name in %s", (pattern, expected) =>
  expect(identifyingName(pattern)).toEqual(expected),
);
