import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { needs } from "../../testing/needs.test-support.ts";
import { AppendError, openAppendFile, syncDirectory } from "./append-file.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "retinue-append-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe("append file", () => {
  it("appends text and bytes, and tracks its size", async () => {
    const path = join(directory, "a.jsonl");
    const file = openAppendFile(path);
    file.append('{"n":"ä"}\n');
    file.append(Buffer.from("2\n"));
    file.append("");
    expect(file.size).toBe(13);
    await file.sync();
    await file.close();
    expect(readFileSync(path, "utf8")).toBe('{"n":"ä"}\n2\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("creates missing directories only if requested, and makes them as private as the file", async () => {
    const path = join(directory, "x/y/a.jsonl");
    expect(() => openAppendFile(path)).toThrow("ENOENT");
    const file = openAppendFile(path, { createDirectory: true });
    file.append("1\n");
    await file.sync();
    await file.close();
    expect(statSync(join(directory, "x")).mode & 0o777).toBe(0o700);
    expect(readFileSync(path, "utf8")).toBe("1\n");
  });

  it("accepts a directory name with a trailing slash or dots", async () => {
    const file = openAppendFile(`${directory}/p/../q//a.jsonl`, { createDirectory: true });
    file.append("1\n");
    await file.sync();
    await file.close();
    expect(existsSync(join(directory, "q/a.jsonl"))).toBe(true);
  });

  it("starts a new line after a torn line left by another process", async () => {
    const path = join(directory, "a.jsonl");
    writeFileSync(path, '{"a":1}\n{"b":');
    const file = openAppendFile(path);
    file.append('{"c":3}\n');
    file.append('{"d":4}\n');
    await file.close();
    expect(readFileSync(path, "utf8")).toBe('{"a":1}\n{"b":\n{"c":3}\n{"d":4}\n');
  });

  it("never joins two records, whatever the file contained", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.array(fc.string({ minLength: 1 })), async (before, appended) => {
        const path = join(directory, "joined");
        writeFileSync(path, before);
        const file = openAppendFile(path);
        for (const text of appended) file.append(text);
        await file.close();
        const expected = appended.reduce(
          (all, text) => (all === "" || all.endsWith("\n") ? all + text : `${all}\n${text}`),
          before,
        );
        expect(readFileSync(path, "utf8")).toBe(Buffer.from(expected).toString());
        expect(file.size).toBe(statSync(path).size);
      }),
      { numRuns: 60 },
    );
  });

  it("continues at the end of the file after another writer appended", async () => {
    const path = join(directory, "a.jsonl");
    const file = openAppendFile(path);
    file.append("1\n");
    appendFileSync(path, "2\n");
    file.append("3\n");
    await file.close();
    expect(readFileSync(path, "utf8")).toBe("1\n2\n3\n");
  });

  it("lets many callers share the current sync and the next one", async () => {
    const file = openAppendFile(join(directory, "a.jsonl"));
    file.append("1\n");
    const first = file.sync();
    file.append("2\n");
    const second = file.sync();
    const third = file.sync();
    expect(second).toBe(third);
    expect(first).not.toBe(second);
    await Promise.all([first, second]);
    file.append("3\n");
    await file.sync();
    await file.close();
  });

  it("refuses work after close, waits for a sync in progress, and can be closed twice", async () => {
    const file = openAppendFile(join(directory, "a.jsonl"));
    file.append("1\n");
    const syncing = file.sync();
    const closing = file.close();
    expect(() => file.append("2\n")).toThrow("closed");
    await expect(file.sync()).rejects.toThrow("closed");
    await Promise.all([syncing, closing, file.close()]);
  });

  it(
    "reports a full disk with its code and the number of bytes written",
    needs("/dev/full", existsSync("/dev/full")),
    async () => {
      const file = openAppendFile("/dev/full");
      try {
        file.append("1\n");
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(AppendError);
        expect(error).toMatchObject({ code: "ENOSPC", bytesWritten: 0, path: "/dev/full" });
      }
      expect(file.size).toBe(0);
      await file.close();
    },
  );

  it("separates a half-written record once the disk has room again", needs("prlimit"), () => {
    const path = join(directory, "a.jsonl");
    const program = join(directory, "write.mjs");
    const contents = `import { execFileSync } from "node:child_process";
       import { openAppendFile } from ${JSON.stringify(join(import.meta.dirname, "append-file.ts"))};
       const limit = (bytes: string) => execFileSync("prlimit", ["--fsize=" + bytes + ":unlimited", "--pid", String(process.pid)]);
       const file = openAppendFile(${JSON.stringify(path)});
       file.append("first\\n");
       limit("1000");
       const failures: unknown[] = [];
       for (const record of ["x".repeat(2000) + "\\n", "y\\n"]) {
         try { file.append(record); } catch (error) { failures.push([(error as any).code, (error as any).bytesWritten]); }
       }
       limit("unlimited");
       file.append("last\\n");
       console.log(JSON.stringify({ failures, size: file.size }));`;
    const stdin = { contents, loader: "ts", resolveDir: directory } as const;
    buildSync({ stdin, bundle: true, platform: "node", format: "esm", outfile: program });
    const output = execFileSync(process.execPath, [program], { encoding: "utf8" });
    expect(JSON.parse(output)).toEqual({
      failures: [
        ["EFBIG", 994],
        ["EFBIG", 0],
      ],
      size: 1006,
    });
    expect(readFileSync(path, "utf8")).toBe(`first\n${"x".repeat(994)}\nlast\n`);
  });
});

describe("syncDirectory", () => {
  it("syncs a directory and rejects a missing one", async () => {
    mkdirSync(join(directory, "d"));
    await syncDirectory(join(directory, "d"));
    await expect(syncDirectory(join(directory, "none"))).rejects.toThrow("ENOENT");
  });
});
