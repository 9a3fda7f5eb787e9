import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { buildSync } from "esbuild";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callAnthropic } from "./client.test-support.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "retinue-serve-"));
});
afterEach(() => rm(directory, { recursive: true }));

function run(...args: string[]) {
  const entryPoints = [join(import.meta.dirname, "serve.ts")];
  const main = join(directory, "serve.mjs");
  buildSync({ entryPoints, bundle: true, platform: "node", format: "esm", outfile: main });
  return spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"] });
}

describe("serve", () => {
  it("prints its address, follows the file, and reports unused steps at the end", async () => {
    const path = join(directory, "script.json");
    await writeFile(path, JSON.stringify({ steps: [{ content: "from the file" }, { content: "never asked for" }] }));
    const child = run(path);
    const exit = once(child, "exit");
    const complaint = text(child.stderr);
    const [url] = (await once(createInterface(child.stdout), "line")) as [string];
    expect((await callAnthropic(url)).bytes.toString()).toContain("from the file");
    child.kill("SIGTERM");
    expect((await exit)[0]).toBe(1);
    expect(await complaint).toContain("script, step 2 was used 0 of 1 times");
  });

  it("describes in one line what is wrong with the file", async () => {
    const child = run(join(directory, "missing.json"));
    const complaint = text(child.stderr);
    expect((await once(child, "exit"))[0]).toBe(2);
    expect((await complaint).trim().split("\n")).toHaveLength(1);
    expect(await complaint).toContain("missing.json");
  });
});
