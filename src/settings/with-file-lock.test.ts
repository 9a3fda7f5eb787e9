import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { describe, expect, it, onTestFinished } from "vitest";
import { bootId, processStartTime } from "../lib/index.ts";
import { createTrustStore, withFileLock } from "./index.ts";

function directory(): string {
  const root = mkdtempSync(join(tmpdir(), "retinue-lock-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

const alive = { host: hostname(), boot: bootId(), pid: process.pid, startTime: processStartTime(process.pid) };

describe("withFileLock", () => {
  it("lets one in after the other and leaves nothing behind", async () => {
    const file = join(directory(), "new/count");
    let inside = 0;
    const counts = await Promise.all(
      Array.from({ length: 20 }, () =>
        withFileLock(file, async () => {
          inside += 1;
          await new Promise((resolve) => setImmediate(resolve));
          return inside--;
        }),
      ),
    );
    expect(new Set(counts)).toEqual(new Set([1]));
    expect(readdirSync(join(file, ".."))).toEqual([]);
  });

  it("is free again after work that failed", async () => {
    const file = join(directory(), "a");
    await expect(withFileLock(file, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await withFileLock(file, async () => 7)).toBe(7);
  });

  it.each([
    ["a process that is gone", JSON.stringify({ ...alive, pid: 2 ** 22 + 1 })],
    ["a pid used again by another process", JSON.stringify({ ...alive, startTime: (alive.startTime ?? 0) + 1 })],
    ["an earlier boot", JSON.stringify({ ...alive, boot: "an-earlier-boot" })],
    ["nobody: it was emptied by a power cut", ""],
  ])("takes it over from %s, exactly one at a time", async (_, text) => {
    const root = directory();
    const file = join(root, "a");
    writeFileSync(`${file}.lock`, text);
    utimesSync(`${file}.lock`, 1, 1);
    let inside = 0;
    const counts = await Promise.all(
      Array.from({ length: 5 }, () =>
        withFileLock(file, async () => {
          inside += 1;
          await new Promise((resolve) => setImmediate(resolve));
          return inside--;
        }),
      ),
    );
    expect(counts).toEqual([1, 1, 1, 1, 1]);
    expect(readdirSync(root)).toEqual([]);
  });

  it.each([
    ["is alive", alive],
    ["may be alive on another machine", { ...alive, host: "elsewhere" }],
  ])("names the owner who %s and keeps it too long, and what to do", async (_, owner) => {
    const file = join(directory(), "a");
    writeFileSync(`${file}.lock`, JSON.stringify(owner));
    await expect(withFileLock(file, async () => 1, { timeoutMs: 0 })).rejects.toMatchObject({
      message: `${file} is being changed by process ${owner.pid} on ${owner.host}`,
      cure: expect.stringContaining(`${file}.lock`),
    });
    expect(readFileSync(`${file}.lock`, "utf8")).toBe(JSON.stringify(owner));
  });

  it("loses nothing of what several processes add to trust.json at once", async () => {
    const root = directory();
    const program = join(root, "add-trust.mjs");
    buildSync({
      entryPoints: [join(import.meta.dirname, "add-trust.test-support.ts")],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile: program,
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });
    const stateHome = join(root, "state");
    const adders = ["a", "b", "c", "d"].map((name) =>
      spawn(process.execPath, [program, stateHome, name, "5"], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    await Promise.all(adders.map((adder) => once(adder.stdout, "data")));
    const ended = adders.map((adder) => once(adder, "exit"));
    for (const adder of adders) adder.stdin.end();
    expect(await Promise.all(ended)).toEqual(adders.map(() => [0, null]));
    const paths = createTrustStore({ stateHome })
      .list()
      .map(({ path }) => path);
    expect(paths.sort()).toEqual(["a", "b", "c", "d"].flatMap((name) => [0, 1, 2, 3, 4].map((i) => `/${name}/${i}`)));
    expect(readdirSync(stateHome)).toEqual(["trust.json"]);
  });
});
