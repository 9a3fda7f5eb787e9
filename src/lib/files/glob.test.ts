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
    ["!(a|b)", "x/c"],
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
  ])("%s does not match %j", (pattern, path) => {
    expect(match(pattern, path)).toBe(false);
  });

  it("refuses an empty pattern", () => {
    expect(() => compileGlob("")).toThrow(SyntaxError);
  });

  it("takes a plain name for itself at any depth, and only itself", () => {
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
