import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGlob } from "./glob.ts";

const match = (pattern: string, path: string) => compileGlob(pattern)(path);

describe("compileGlob", () => {
  it.each([
    ["*.env", "sub/.env"],
    ["*.env", "prod.env"],
    [".env*", "a/b/.env.local"],
    ["*", "deep/down/file"],
    ["secret", "a/secret"],
    ["secret", "a/secret/"],
    ["src/**", "src/a/.b/c"],
    ["src/**", "src"],
    ["src/*.ts", "src/a.ts"],
    ["src/*.ts", "./src/a.ts"],
    ["./src/*.ts", "src/a.ts"],
    ["**/keys/*", "a\nb/keys/id"],
    ["**/*.{pem,key}", "x/y.key"],
    ["/etc/**", "/etc/passwd"],
    ["!important", "a/!important"],
    ["app/(auth)/*.tsx", "app/(auth)/page.tsx"],
    ["*.{a,{b,{c,d}}}", "x/y.d"],
    ["[!a]", "b"],
    ["[]x]", "]"],
    ["\\*", "*"],
    ["**.ts", "a/b.ts"],
    ["[ab].ts", "a.ts"],
    ["?.ts", "x.ts"],
    ["a b", "a b"],
  ])("%s matches %j", (pattern, path) => {
    expect(match(pattern, path)).toBe(true);
  });

  it.each([
    ["*.env", "env"],
    ["*.env", "a.env/b"],
    ["src/*.ts", "src/a/b.ts"],
    ["src/**", "other/src/a"],
    ["!important", "other"],
    ["!src/**", "other/a"],
    ["*.ts", "a.TS"],
    ["a.b", "axb"],
    ["/etc/**", "etc/passwd"],
    ["[!a]", "a"],
    ["\\*", "a"],
  ])("%s does not match %j", (pattern, path) => {
    expect(match(pattern, path)).toBe(false);
  });

  it.each(["", "!(a|b)", "{a,b", "a}", "{1..3}", "a".repeat(10_001), "{".repeat(5_000)])("rejects %.20s", (pattern) => {
    expect(() => compileGlob(pattern)).toThrow(SyntaxError);
  });

  it.each([
    ["3,000 stars", `${"*a".repeat(3_000)}b`, "a".repeat(1_000_000)],
    ["1,900 double stars", `${"**/a/".repeat(1_900)}b`, "a/".repeat(50_000)],
    ["a long name after a star", `*${"a".repeat(2_000)}b`, "a".repeat(4_000)],
    ["open brackets", "[".repeat(9_999), "["],
    ["a class of 9,000 members", `*[${"b".repeat(9_000)}]`, "a".repeat(100_000)],
    ["nested braces", `${"{a,".repeat(60)}b${"}".repeat(60)}`, "c".repeat(100_000)],
  ])("takes only a moment for %s", (_, pattern, path) => {
    expect(match(pattern, path)).toBe(false);
  });

  it("matches a plain name at any depth, and nothing else", () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9_.-]{1,12}$/).filter((text) => text !== "." && text !== "..");
    fc.assert(
      fc.property(name, fc.array(name, { maxLength: 4 }), name, (file, directories, other) => {
        const path = [...directories, file].join("/");
        expect(match(file, path)).toBe(true);
        expect(match(path, path)).toBe(true);
        expect(match("*", path)).toBe(true);
        expect(match("**", path)).toBe(true);
        expect(match(other, path)).toBe(other === file);
      }),
    );
  });
});
