import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isLinux, needs } from "../../testing/needs.test-support.ts";
import { createLocalWorkspace } from "../local-workspace.ts";

/**
 * Swaps a directory with a symlink to the outside and back, as fast as it can. Uses only renames, because creating
 * symlinks is slow.
 */
const swapper = `
const { parentPort, workerData } = require("node:worker_threads");
const fs = require("node:fs");
const { directory, outside, flags } = workerData;
const attempt = (action) => { try { action(); return true; } catch { return false; } };
const link = directory + "-link";
fs.symlinkSync(outside, link);
for (let round = 0; Atomics.load(flags, 0) === 0; round++) {
  attempt(() => fs.renameSync(directory, directory + round));
  if (attempt(() => fs.renameSync(link, directory))) {
    Atomics.add(flags, 1, 1);
    fs.renameSync(directory, link);
  }
  attempt(() => fs.renameSync(directory + round, directory));
  // The directory exists long enough to be opened, but may be replaced before it is written to.
  for (const end = performance.now() + (round % 8) / 10; performance.now() < end; );
  if (round === 0) parentPort.postMessage("running");
}
`;

let root: string;
let outside: string;
let flags: Int32Array;
let worker: Worker;
beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "race-")));
  outside = realpathSync(mkdtempSync(join(tmpdir(), "outside-")));
  mkdirSync(join(root, "d"));
  writeFileSync(join(root, "d", "f"), "inside");
  writeFileSync(join(outside, "f"), "secret");
  flags = new Int32Array(new SharedArrayBuffer(8));
  worker = new Worker(swapper, { eval: true, workerData: { directory: join(root, "d"), outside, flags } });
  await new Promise((resolve) => worker.once("message", resolve));
});
afterEach(() => {
  rmSync(root, { recursive: true });
  rmSync(outside, { recursive: true });
});

async function endRace(): Promise<number> {
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  Atomics.store(flags, 0, 1);
  await ended;
  return Atomics.load(flags, 1);
}

/** Runs the rounds, and more of them until the outcomes differ: on a busy machine, the swapper may not run for a while. */
async function race(rounds: number, perform: (round: number) => Promise<string>): Promise<void> {
  const outcomes = new Set<string>();
  for (let round = 0; round < rounds || (outcomes.size < 2 && round < 100 * rounds); round++)
    outcomes.add(await perform(round));
  expect(await endRace()).toBeGreaterThan(0);
  expect(outcomes.size).toBeGreaterThan(1);
}

describe("a directory that is constantly replaced with a symlink", needs("Linux", isLinux), () => {
  it("never lets a write escape", async () => {
    const workspace = createLocalWorkspace({ root, environment: {} });
    await race(200, async (round) => {
      const directories = round % 2 === 0 ? "" : `new${round}/`;
      const result = await workspace.write(join(root, "d", `${directories}f`), Buffer.from("escaped"), {});
      return result.ok ? "written" : result.code;
    });
    expect(readdirSync(outside)).toEqual(["f"]);
    expect(readFileSync(join(outside, "f"), "utf8")).toBe("secret");
  });

  it("never lets a removal escape", async () => {
    const workspace = createLocalWorkspace({ root, environment: {} });
    const path = join(root, "d", "f");
    await race(500, async () => {
      const { version } = await workspace.stat(path);
      const result = await workspace.remove(path, { expect: version });
      if (result.ok) await workspace.write(path, Buffer.from("inside"), {});
      return result.ok ? "removed" : result.code;
    });
    expect(readFileSync(join(outside, "f"), "utf8")).toBe("secret");
  });

  it("never lets a read escape", async () => {
    const workspace = createLocalWorkspace({ root, environment: {} });
    const seen = new Set<string>();
    for (let round = 0; round < 1000; round++) {
      const result = await workspace.read(join(root, "d", "f"), { maxBytes: 100 });
      seen.add(result.ok ? Buffer.from(result.bytes).toString() : "refused");
      const listed = await workspace.list(join(root, "d"));
      if (listed.ok) seen.add(listed.entries.length > 1 ? "listed" : "listed one");
    }
    expect(await endRace()).toBeGreaterThan(0);
    expect(seen).not.toContain("secret");
  });
});
