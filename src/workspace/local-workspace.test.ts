import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RunningProcess } from "../ports/index.ts";
import { isLinux, needs } from "../testing/needs.test-support.ts";
import { createLocalWorkspace } from "./local-workspace.ts";

let root: string;
const running: RunningProcess[] = [];
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "local-")));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((process) => process.end()));
  rmSync(root, { recursive: true });
});

const environment = { PATH: process.env["PATH"], ANTHROPIC_API_KEY: "s3cret", LANG: "C" };
const workspace = () => createLocalWorkspace({ root, environment });

function run(
  script: string,
  more: { cwd?: string; env?: Record<string, string>; stdin?: string; stdinOpen?: boolean } = {},
) {
  const output = { stdout: "", stderr: "" };
  const started = workspace().spawn({
    command: "sh",
    args: ["-c", script],
    tag: `test-${process.pid}`,
    onOutput: (chunk, stream) => {
      output[stream] += Buffer.from(chunk).toString();
    },
    ...more,
  });
  running.push(started);
  return { ...started, output };
}

/** Returns whether a process is running. A killed orphan stays listed until it is reaped. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Blocks the event loop, to simulate a busy machine. */
function standStill(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}

describe("a read-only process without a sandbox", () => {
  it.each([
    ["the workspace", "bin", ""],
    ["the repository around it", "bin", "packages/a"],
  ])("runs no program from %s, not even a shell", async (_, directory, own) => {
    execFileSync("git", ["init", "-q", root]);
    mkdirSync(join(root, directory));
    mkdirSync(join(root, own), { recursive: true });
    for (const name of ["ls", "sh"])
      writeFileSync(join(root, directory, name), "#!/bin/sh\necho EVIL\n", { mode: 0o755 });
    const given = { ...environment, PATH: `${join(root, directory)}:${environment.PATH}`, HOME: tmpdir() };
    const local = createLocalWorkspace({ root: join(root, own), environment: given });
    let output = "";
    const spawned = local.spawn({
      ...{ command: "sh", args: ["-c", "ls -d /; git --version"], tag: `test-${process.pid}` },
      readsOnly: { visible: [], hidden: [] },
      onOutput: (chunk) => {
        output += Buffer.from(chunk).toString();
      },
    });
    running.push(spawned);
    await spawned.exited;
    expect(output).toMatch(/^\/\ngit version/);
  });
});

describe("createLocalWorkspace", () => {
  it("uses the real path of its root, and throws if there is no root", () => {
    symlinkSync(root, `${root}-link`);
    expect(createLocalWorkspace({ root: `${root}-link`, environment }).root).toBe(root);
    rmSync(`${root}-link`);
    expect(() => createLocalWorkspace({ root: join(root, "missing"), environment })).toThrow("ENOENT");
  });

  it("returns a new version for every change", async () => {
    const path = join(root, "f");
    const place = workspace();
    expect(await place.stat(path)).toEqual({ kind: "missing", size: 0, version: "missing", mode: 0 });
    const first = await place.write(path, Buffer.from("a"), { expect: "missing" });
    const second = await place.write(path, Buffer.from("b"), {});
    if (!first.ok || !second.ok) throw new Error("not written");
    expect(second.stat.version).not.toBe(first.stat.version);
    expect(await place.stat(path)).toEqual(second.stat);
    const read = await place.read(path, { maxBytes: 10 });
    expect(read.ok && read.stat).toEqual(second.stat);
  });

  it("lists entries by kind, without following links", async () => {
    mkdirSync(join(root, "d"));
    writeFileSync(join(root, "f"), "12345");
    symlinkSync("f", join(root, "l"));
    const result = await workspace().list(root);
    expect(result.ok && [...result.entries].sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: "d", kind: "directory", size: 0 },
      { name: "f", kind: "file", size: 5 },
      { name: "l", kind: "link", size: 0 },
    ]);
    expect(await workspace().list(join(root, "f"))).toMatchObject({ ok: false, code: "ENOTDIR" });
    expect(await workspace().list(join(root, "x"))).toMatchObject({ ok: false, code: "ENOENT" });
    expect(await workspace().list("")).toMatchObject({ ok: false, code: "invalid_path" });
  });

  it("runs a program in the root with a scrubbed environment", async () => {
    const { exited, output } = run("pwd; echo $ANTHROPIC_API_KEY-$PAGER-$EXTRA; echo problem >&2; exit 3", {
      env: { EXTRA: "more" },
    });
    expect(await exited).toMatchObject({ code: 3, signal: null });
    expect(output).toEqual({ stdout: `${root}\n-cat-more\n`, stderr: "problem\n" });
  });

  it("passes standard input, which is empty by default", async () => {
    const fed = run("cat", { stdin: "words" });
    await fed.exited;
    expect(fed.output.stdout).toBe("words");
    const unfed = run("cat; echo end");
    await unfed.exited;
    expect(unfed.output.stdout).toBe("end\n");
  });

  it("explains why a program could not be started", async () => {
    const started = workspace().spawn({ command: "no-such-program-here", args: [], tag: "t", onOutput: () => {} });
    expect((await started.exited).failure).toContain("no-such-program-here");
    expect((await run("true", { cwd: join(root, "missing") }).exited).failure).toContain("missing");
    await started.end();
  });

  it("reads all output of a program that has finished, even if reading was paused", async () => {
    const started = run("head -c 300000 /dev/zero | tr '\\0' x");
    started.pause();
    setTimeout(started.resume, 50);
    await started.exited;
    expect(started.output.stdout.length).toBe(300_000);
  });

  it("reads all output of a program, even if this process is blocked", needs("Linux", isLinux), async () => {
    const late = run("until [ -e go ]; do sleep 0.01; done; echo late");
    const first = workspace().spawn({
      command: "echo",
      args: ["first"],
      tag: `test-${process.pid}`,
      // Makes Node notice the end of both processes at once, before it reads the output of the late process.
      onOutput: () => {
        writeFileSync(join(root, "go"), "");
        while (isRunning(late.pid ?? 0));
        setImmediate(() => standStill(300));
      },
    });
    running.push(first);
    while (isRunning(first.pid ?? 0));
    await late.exited;
    expect(late.output.stdout).toBe("late\n");
  });

  it("does not wait for children that hold the output open, and ends them", needs("Linux", isLinux), async () => {
    const started = run("echo first; sleep 600 & echo $! > child; exit 0");
    expect(await started.exited).toMatchObject({ code: 0 });
    expect(started.output.stdout).toContain("first");
    const child = Number(readFileSync(join(root, "child"), "utf8"));
    expect(isRunning(child)).toBe(true);
    await started.end();
    expect(isRunning(child)).toBe(false);
  });

  it("writes to a process whose input stays open, and reports when the process no longer reads", async () => {
    const { input, exited, output } = run("read first; read second; echo $first-$second", { stdinOpen: true });
    expect(await input?.write("one\n")).toBe(true);
    expect(await input?.write(Buffer.from("two\n"))).toBe(true);
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(output.stdout).toBe("one-two\n");
    expect(await input?.write("three\n")).toBe(false);
  });

  it("signals the end of input to a process", async () => {
    const { input, exited, output } = run("cat; echo over", { stdin: "a", stdinOpen: true });
    await input?.write("b");
    input?.end();
    await exited;
    expect(output.stdout).toBe("abover\n");
    expect(await input?.write("c")).toBe(false);
  });

  it("provides no writable input unless requested", async () => {
    expect(run("true").input).toBeUndefined();
  });
});
