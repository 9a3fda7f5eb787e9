import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isLinux, needs } from "../../testing/needs.test-support.ts";
import { readRegularFile } from "./read-regular-file.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "read-")));
});
afterEach(() => rmSync(root, { recursive: true }));

const place = (name: string, content?: string | Uint8Array): string => {
  const path = join(root, name);
  if (content !== undefined) writeFileSync(path, content);
  return path;
};
const codeOf = async (path: string, maxBytes = 100) => {
  const result = await readRegularFile(path, { maxBytes });
  return result.ok ? "ok" : result.code;
};

describe("readRegularFile", () => {
  it("reads small, empty and large files completely, with a version", async () => {
    for (const size of [0, 1, 99_999, 256 * 1024, 3_000_000]) {
      const bytes = Buffer.alloc(size, "abc");
      const result = await readRegularFile(place("f", bytes), { maxBytes: 3_000_000 });
      if (!result.ok) throw new Error(result.message);
      expect(bytes.equals(result.bytes)).toBe(true);
      expect(result.stat).toMatchObject({ kind: "file", size });
    }
  });

  it("rejects files above the limit, and reads parts of them", async () => {
    const path = place("f", "0123456789");
    expect(await codeOf(path, 9)).toBe("too_large");
    expect(await codeOf(path, 10)).toBe("ok");
    const window = await readRegularFile(path, { maxBytes: 4, offset: 3 });
    expect(window.ok && Buffer.from(window.bytes).toString()).toBe("3456");
    const end = await readRegularFile(path, { maxBytes: 4, offset: 8 });
    expect(end.ok && Buffer.from(end.bytes).toString()).toBe("89");
    const after = await readRegularFile(path, { maxBytes: 4, offset: 50 });
    expect(after.ok && after.bytes.length).toBe(0);
  });

  it("rejects other kinds of files, without blocking", async () => {
    execFileSync("mkfifo", [place("fifo")]);
    mkdirSync(place("directory"));
    symlinkSync(place("target", "x"), place("link"));
    const server = createServer().listen(place("socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    expect(await codeOf(place("fifo"))).toBe("not_a_file");
    expect(await codeOf(place("socket"))).toBe("not_a_file");
    expect(await codeOf("/dev/zero")).toBe("not_a_file");
    expect(await codeOf(place("directory"))).toBe("EISDIR");
    expect(await codeOf(place("link"))).toBe("ELOOP");
    expect(await codeOf(place("missing"))).toBe("ENOENT");
    expect(await codeOf(place("target/below"))).toBe("ENOTDIR");
    expect(await codeOf("")).toBe("invalid_path");
    expect(await codeOf("relative")).toBe("invalid_path");
    await new Promise((resolve) => server.close(resolve));
  });

  it("does not follow a directory that was replaced with a symlink", async () => {
    mkdirSync(place("real"));
    place("real/f", "secret");
    symlinkSync("real", place("alias"));
    expect(await codeOf(place("alias/f"))).toBe("moved");
  });

  it("reads files of unknown size, up to the limit", needs("Linux", isLinux), async () => {
    const result = await readRegularFile("/proc/self/status".replace("self", String(process.pid)), {
      maxBytes: 100_000,
    });
    expect(result.ok && Buffer.from(result.bytes).toString()).toContain("Name:");
    expect(await codeOf(`/proc/${process.pid}/status`, 10)).toBe("too_large");
  });

  it("leaves no descriptor open", needs("Linux", isLinux), async () => {
    const count = () => readdirSync("/proc/self/fd").length;
    const path = place("f", Buffer.alloc(300_000));
    await codeOf(path, 400_000);
    const before = count();
    for (let round = 0; round < 20; round++) {
      await codeOf(path, 400_000);
      await codeOf(path, 1);
      await codeOf(place("missing"));
      await codeOf("/dev/zero");
    }
    expect(count()).toBe(before);
  });
});
