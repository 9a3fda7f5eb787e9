import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { needs } from "../../testing/needs.test-support.ts";
import { writeAtomically } from "./write-atomically.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "retinue-atomic-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe("writeAtomically", () => {
  it("writes a new private file", async () => {
    const path = join(directory, "settings.json");
    await writeAtomically(path, "{}\n");
    expect(readFileSync(path, "utf8")).toBe("{}\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(["settings.json"]);
  });

  it("gives a new file the requested mode, and keeps an existing file's mode", async () => {
    const path = join(directory, "settings.json");
    await writeAtomically(path, "1", { mode: 0o644 });
    expect(statSync(path).mode & 0o777).toBe(0o644);
    chmodSync(path, 0o640);
    await writeAtomically(path, Buffer.from("2"));
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readFileSync(path, "utf8")).toBe("2");
  });

  it("writes through a link and keeps the link", async () => {
    writeFileSync(join(directory, "real.json"), "old");
    symlinkSync("real.json", join(directory, "link.json"));
    await writeAtomically(join(directory, "link.json"), "new");
    expect(lstatSync(join(directory, "link.json")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(directory, "real.json"), "utf8")).toBe("new");
  });

  it("lets one of many writers win completely", async () => {
    const path = join(directory, "a");
    const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000));
    await Promise.all(contents.map((content) => writeAtomically(path, content)));
    expect(contents).toContain(readFileSync(path, "utf8"));
    expect(readdirSync(directory)).toEqual(["a"]);
  });

  it("rejects if the directory is missing or the path is a directory, and leaves nothing behind", async () => {
    await expect(writeAtomically(join(directory, "none/a"), "x")).rejects.toThrow("ENOENT");
    await expect(writeAtomically(directory, "x")).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST|EBUSY/);
    expect(readdirSync(directory)).toEqual([]);
    expect(
      readdirSync(dirname(directory)).filter((name) => name.endsWith(".tmp") && name.includes("retinue-atomic-")),
    ).toEqual([]);
  });

  it("keeps the old content if there is no room for the new", needs("prlimit"), () => {
    const path = join(directory, "settings.json");
    writeFileSync(path, "precious");
    const program = join(directory, "write.mjs");
    const contents = `import { writeAtomically } from ${JSON.stringify(join(import.meta.dirname, "write-atomically.ts"))};
       import { execFileSync } from "node:child_process";
       execFileSync("prlimit", ["--fsize=1000:unlimited", "--pid", String(process.pid)]);
       await writeAtomically(${JSON.stringify(path)}, "x".repeat(5000)).catch((error) => console.log(error.code));`;
    const stdin = { contents, loader: "ts", resolveDir: directory } as const;
    buildSync({ stdin, bundle: true, platform: "node", format: "esm", outfile: program });
    expect(execFileSync(process.execPath, [program], { encoding: "utf8" }).trim()).toBe("EFBIG");
    expect(readFileSync(path, "utf8")).toBe("precious");
    expect(readdirSync(directory).sort()).toEqual(["settings.json", "write.mjs"]);
  });
});
