import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { statPath } from "./file-stat.ts";
import { writeWholeFile } from "./write-whole-file.ts";

let root: string;
let outside: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "write-")));
  outside = realpathSync(mkdtempSync(join(tmpdir(), "outside-")));
});
afterEach(() => {
  rmSync(root, { recursive: true });
  rmSync(outside, { recursive: true });
});

const put = async (path: string, text: string, expected?: string) => {
  const result = await writeWholeFile(path, Buffer.from(text), expected === undefined ? {} : { expect: expected });
  return result.ok ? result.stat : result.code;
};

describe("writeWholeFile", () => {
  it("creates a file with its directories, and returns its version", async () => {
    const path = join(root, "a", "b", "c.txt");
    const stat = await put(path, "hello", "missing");
    expect(stat).toEqual(statPath(path));
    expect(readFileSync(path, "utf8")).toBe("hello");
    expect(readdirSync(join(root, "a", "b"))).toEqual(["c.txt"]);
  });

  it("writes large and empty content completely", async () => {
    for (const size of [0, 256 * 1024, 5_000_000]) {
      expect(await put(join(root, "f"), "x".repeat(size))).toMatchObject({ kind: "file", size });
      expect(statSync(join(root, "f")).size).toBe(size);
    }
  });

  it("keeps the mode of the replaced file", async () => {
    const path = join(root, "run.sh");
    writeFileSync(path, "old");
    chmodSync(path, 0o751);
    await put(path, "new");
    expect(statSync(path).mode & 0o7777).toBe(0o751);
  });

  it("rejects an unexpected version, and does not change the file", async () => {
    const path = join(root, "f");
    writeFileSync(path, "one");
    const seen = statPath(path).version;
    expect(await put(path, "two", "missing")).toBe("changed");
    expect(await put(path, "two", seen)).toMatchObject({ kind: "file" });
    expect(await put(path, "three", seen)).toBe("changed");
    expect(await put(join(root, "gone"), "x", seen)).toBe("changed");
    expect(await put(join(root, "no", "such", "gone"), "x", seen)).toBe("changed");
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(readdirSync(root)).toEqual(["f"]);
  });

  it("rejects symlinks, directories and devices, even below symlinks", async () => {
    writeFileSync(join(outside, "f"), "safe");
    symlinkSync(join(outside, "f"), join(root, "link"));
    symlinkSync(join(outside, "new"), join(root, "dangling"));
    symlinkSync(outside, join(root, "out"));
    mkdirSync(join(root, "directory"));
    expect(await put(join(root, "link"), "x")).toBe("not_a_file");
    expect(await put(join(root, "dangling"), "x")).toBe("not_a_file");
    expect(await put(join(root, "directory"), "x")).toBe("EISDIR");
    expect(await put("/dev/null", "x")).toBe("not_a_file");
    expect(["ENOTDIR", "ELOOP", "moved"]).toContain(await put(join(root, "out", "f"), "x"));
    expect(["ENOTDIR", "ELOOP", "moved"]).toContain(await put(join(root, "out", "deep", "er"), "x"));
    expect(await put("", "x")).toBe("invalid_path");
    expect(await put("relative", "x")).toBe("invalid_path");
    expect(await put(join(root, "a\0b"), "x")).toBe("invalid_path");
    expect(await put(join(outside, "f", "below"), "x")).toBe("ENOTDIR");
    expect(readFileSync(join(outside, "f"), "utf8")).toBe("safe");
    expect(readdirSync(outside)).toEqual(["f"]);
  });

  it("leaves nothing behind if the name is too long", async () => {
    expect(await put(join(root, "n".repeat(300)), "x")).toBe("ENAMETOOLONG");
    expect(readdirSync(root)).toEqual([]);
  });

  it("lets only one of two writers succeed if both expect the same version", async () => {
    const path = join(root, "f");
    writeFileSync(path, "one");
    const { version } = statPath(path);
    const results = await Promise.all([put(path, "left", version), put(path, "right", version)]);
    expect(results.filter((result) => result === "changed")).toHaveLength(1);
    expect(existsSync(path)).toBe(true);
    expect(readdirSync(root)).toEqual(["f"]);
  });
});
