import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolvePath } from "./resolve-path.ts";

let root: string;
let outside: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "resolve-")));
  outside = realpathSync(mkdtempSync(join(tmpdir(), "outside-")));
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src", "a.ts"), "a");
});
afterEach(() => {
  rmSync(root, { recursive: true });
  rmSync(outside, { recursive: true });
});

const at = (path: string) => resolvePath(path, { root, home: outside });

const anyCharacter = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

describe("resolvePath", () => {
  it("resolves relative, absolute and dotted paths", () => {
    const file = join(root, "src", "a.ts");
    for (const path of ["src/a.ts", "./src/../src/a.ts", file, `${root}//src/./a.ts`]) {
      expect(at(path)).toEqual({ requested: path, absolute: file, real: file, kind: "file" });
    }
    expect(at(".")).toMatchObject({ real: root, kind: "directory" });
    expect(at("src/")).toMatchObject({ real: join(root, "src"), kind: "directory" });
  });

  it("treats ~ as the home directory only at the start", () => {
    expect(at("~/x").absolute).toBe(join(outside, "x"));
    expect(at("~").absolute).toBe(outside);
    expect(at("~x").absolute).toBe(join(root, "~x"));
    expect(at("a/~/x").absolute).toBe(join(root, "a/~/x"));
  });

  it("follows symlinks anywhere in the path", () => {
    symlinkSync(outside, join(root, "out"));
    writeFileSync(join(outside, "f"), "f");
    symlinkSync(join(outside, "f"), join(root, "f"));
    expect(at("out/f")).toMatchObject({ absolute: join(root, "out/f"), real: join(outside, "f"), kind: "file" });
    expect(at("f")).toMatchObject({ absolute: join(root, "f"), real: join(outside, "f"), kind: "file" });
    expect(at("out/new/file")).toMatchObject({ real: join(outside, "new/file"), kind: "missing" });
  });

  it("returns the path that a write through a dangling symlink would create", () => {
    symlinkSync(join(outside, "not-yet"), join(root, "dangling"));
    symlinkSync("dangling", join(root, "twice"));
    expect(at("dangling")).toMatchObject({ real: join(outside, "not-yet"), kind: "missing" });
    expect(at("twice")).toMatchObject({ real: join(outside, "not-yet"), kind: "missing" });
    expect(at("dangling/deeper")).toMatchObject({ real: join(outside, "not-yet/deeper"), kind: "missing" });
  });

  it("returns no real path for symlink loops and control characters", () => {
    symlinkSync("b", join(root, "a"));
    symlinkSync("a", join(root, "b"));
    for (const path of ["a", "a/x", "src/a.ts\0.png", "src\n/a.ts", "x\u001b[2J", "x\u007f", "x\u0085", ""]) {
      expect(at(path), JSON.stringify(path)).toMatchObject({ real: "", kind: "other" });
    }
  });

  it("recognizes paths that lead to the workspace through a symlink outside it", () => {
    symlinkSync(root, join(outside, "alias"));
    symlinkSync(outside, join(root, "out"));
    symlinkSync("src", join(root, "linked"));
    const under = (path: string) => at(join(outside, "alias", path)).inWorkspace;
    expect(under("src/a.ts")).toBe(join(root, "src/a.ts"));
    expect(under("linked/new.ts")).toBe(join(root, "linked/new.ts"));
    expect(under("out/alias/src/a.ts")).toBe(join(root, "out/alias/src/a.ts"));
    expect(under("")).toBe(root);
    for (const path of ["src/a.ts", "linked/a.ts", "out/x", join(outside, "x"), `${root}-other/x`, "/"])
      expect(at(path).inWorkspace, path).toBeUndefined();
  });

  it("treats paths below a file as missing", () => {
    expect(at("src/a.ts/x")).toMatchObject({ real: join(root, "src/a.ts/x"), kind: "missing" });
  });

  it("recognizes entries that are neither files nor directories", () => {
    expect(at("/dev/null")).toMatchObject({ real: "/dev/null", kind: "other" });
  });

  it("handles every path, and resolves `.` and `..` if there are no symlinks", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (path) => {
        const { absolute, real } = at(path);
        expect(absolute).toBe(resolve(absolute));
        if (real !== "") expect(real.startsWith("/")).toBe(true);
      }),
      { numRuns: 50 },
    );
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "src", "..", ".", "x y"), { minLength: 1 }), (parts) => {
        const { absolute, real } = at(parts.join("/"));
        expect(real).toBe(absolute);
        expect(absolute).toBe(resolve(root, parts.join("/")));
      }),
      { numRuns: 50 },
    );
  });
});
