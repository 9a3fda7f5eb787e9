import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { bundleProgram } from "../../testing/bundle-program.test-support.ts";
import { isLinux, needs, needsModes, respectingModes } from "../../testing/needs.test-support.ts";
import { newRunId } from "../ids.ts";
import { bootId, listPids, processStartTime, readProcess } from "./process-info.ts";
import { endProcessTree, sweepTagged } from "./process-tree.ts";
import { type ProcessRequest, type StartedProcess, startProcess } from "./start-process.ts";

const tags: string[] = [];

/** Starts bash and waits until the script has printed "ready". */
async function startScript(script: string, request: Partial<ProcessRequest> = {}): Promise<StartedProcess> {
  const tag = newRunId();
  tags.push(tag);
  const started = startProcess({ command: "bash", args: ["--norc", "-c", script], tag, ...request });
  await new Promise<void>((ready, failed) => {
    let output = "";
    started.stdout.on("data", (chunk) => {
      output += chunk;
      if (output.includes("ready")) ready();
    });
    void started.exit.then((exit) => failed(new Error(`ended early: ${JSON.stringify(exit)} ${output}`)));
  });
  return started;
}

/** Finds processes by their command line, not by group or tag, which the code under test uses. */
function sleepersOf(duration: string): number[] {
  return (listPids() ?? []).filter((pid) => {
    try {
      return readProcess(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").includes(duration);
    } catch {
      return false;
    }
  });
}

let serial = 0;
const uniqueDuration = () => `600.${process.pid}${++serial}`;

afterEach(async () => {
  for (const tag of tags.splice(0)) await sweepTagged(tag);
});

describe("endProcessTree", needs("Linux", isLinux), () => {
  const shapes: Record<string, (duration: string) => string> = {
    "plain child": (duration) => `echo ready; sleep ${duration}; true`,
    "background child": (duration) => `sleep ${duration} & echo ready; wait`,
    pipeline: (duration) => `echo ready; sleep ${duration} | cat | cat`,
    "trap '' TERM": (duration) => `trap '' TERM; sleep ${duration} & echo ready; sleep ${duration}; sleep ${duration}`,
    setsid: (duration) => `setsid sleep ${duration} & echo ready; wait`,
    "double fork with setsid nohup": (duration) =>
      `(setsid nohup sleep ${duration} >/dev/null 2>&1 </dev/null &); echo ready; sleep ${duration}`,
    "cleared environment in a new session": (duration) => `env -i setsid sleep ${duration} & echo ready; wait`,
  };
  it.each(Object.keys(shapes))("ends every process started by: %s", async (shape) => {
    const duration = uniqueDuration();
    const started = await startScript(shapes[shape]?.(duration) ?? "");
    await expect.poll(() => sleepersOf(duration).length).toBeGreaterThan(0);
    const sleepers = sleepersOf(duration);
    const ended = await endProcessTree(started, { graceMs: 50 });
    expect(sleepersOf(duration)).toEqual([]);
    expect(ended).toEqual(expect.arrayContaining([started.pid]));
    // The shell that ignores TERM may have started its next sleep during the grace period.
    if (shape !== "trap '' TERM") expect(ended).toEqual(expect.arrayContaining(sleepers));
    expect(started.hasExited).toBe(true);
    expect((await started.closed).code === 0).toBe(false);
  });

  it("finds a daemon after the process that started it has ended", async () => {
    const duration = uniqueDuration();
    const tag = newRunId();
    tags.push(tag);
    const script = `(setsid nohup sleep ${duration} >/dev/null 2>&1 </dev/null &)`;
    const started = startProcess({ command: "bash", args: ["-c", script], tag });
    expect(await started.closed).toEqual({ code: 0, signal: null });
    await expect.poll(() => sleepersOf(duration).length).toBe(1);
    const sleepers = sleepersOf(duration);
    expect(await endProcessTree(started, { graceMs: 50 })).toEqual(sleepers);
    expect(sleepersOf(duration)).toEqual([]);
  });

  it("gives a process time to clean up", async () => {
    const started = await startScript("trap 'echo cleaned; exit 7' TERM; echo ready; while :; do sleep 0.01; done");
    await endProcessTree(started, { graceMs: 20_000 });
    expect(await started.closed).toEqual({ code: 7, signal: null });
  });

  it("does nothing for a process that has ended or never existed", async () => {
    const ended = startProcess({ command: "true", tag: "gone-1" });
    await ended.closed;
    expect(await endProcessTree(ended, { graceMs: 50 })).toEqual([]);
    const never = startProcess({ command: "no-such-program-anywhere", tag: "gone-2" });
    expect(await endProcessTree(never, { graceMs: 50 })).toEqual([]);
    expect(await sweepTagged("no-such-tag")).toEqual([]);
  });

  it("does not end an unrelated process with the same pid", async () => {
    const stranger = await startScript("echo ready; read -r", { stdinOpen: true });
    const stale = { ...stranger, startTime: (stranger.startTime ?? 0) - 1, tag: "another" };
    expect(await endProcessTree(stale, { graceMs: 50 })).toEqual([]);
    expect(readProcess(stranger.pid ?? 0)).toBeDefined();
    stranger.stdin?.end("done\n");
    expect((await stranger.exit).signal).toBeNull();
  });

  it("ends one process without its siblings, and a whole group by the group's tag", async () => {
    const group = newRunId();
    tags.push(group);
    const first = await startScript("echo ready; sleep 600", { tag: [group, "call-1"] });
    const second = await startScript("echo ready; setsid sleep 600; true", { tag: [group, "call-2"] });
    await endProcessTree(first, { graceMs: 50 });
    expect([first.hasExited, second.hasExited]).toEqual([true, false]);
    const swept = await sweepTagged(group);
    expect(swept).toContain(second.pid);
    await second.exit;
  });
});

describe("startProcess", () => {
  it("returns output and exit code, and passes input", async () => {
    const started = startProcess({
      command: "sh",
      args: ["-c", "cat; echo oops >&2; exit 3"],
      tag: "io",
      stdin: "hé\n",
    });
    const [out, err] = await Promise.all([readAll(started.stdout), readAll(started.stderr)]);
    expect([out, err]).toEqual(["hé\n", "oops\n"]);
    expect(await started.exit).toEqual({ code: 3, signal: null });
  });

  it("passes exactly the given environment, and the tag", async () => {
    const started = startProcess({ command: "/usr/bin/env", env: { ONLY: "this" }, tag: "env-1" });
    const lines = (await readAll(started.stdout)).trim().split("\n").sort();
    expect(lines[0]).toBe("ONLY=this");
    expect(lines[1]).toMatch(/^RETINUE_TAG=(.*:)?env-1$/);
    expect(lines.length).toBe(2);
  });

  it("explains why a process could not be started", async () => {
    const failures = await Promise.all(
      [
        { command: "no-such-program-anywhere" },
        { command: "sh", cwd: "/no/such/directory" },
        { command: "/etc/passwd" },
        { command: "sh", args: ["-c", "true", "x".repeat(5_000_000)] },
        { command: "sh", args: ["a\0b"] },
      ].map(async (request) => {
        const started = startProcess({ ...request, tag: "failing" });
        expect(await readAll(started.stdout)).toBe("");
        return { pid: started.pid, ...(await started.closed) };
      }),
    );
    expect(failures.every(({ pid, code }) => pid === undefined && code === null)).toBe(true);
    const [program, directory, mode, long, nul] = failures.map(({ failure }) => failure);
    expect(program).toContain("no such program");
    expect(directory).toContain("the directory /no/such/directory does not exist");
    expect(mode).toContain("is not executable");
    expect(long).toContain("too long");
    expect(nul).toContain("Could not start sh");
  });

  describe("in a process that respects file modes", needsModes, () => {
    const lock = (): string => {
      const locked = mkdtempSync(join(tmpdir(), "locked-"));
      onTestFinished(() => rmSync(locked, { recursive: true }));
      chmodSync(locked, 0o000);
      return locked;
    };
    const failureOf = (request: Omit<ProcessRequest, "tag">): string => {
      const module = JSON.stringify(bundleProgram(join(import.meta.dirname, "start-process.ts")));
      const words = JSON.stringify({ ...request, tag: "locked" });
      const script = `import { startProcess } from ${module}; console.log((await startProcess(${words}).closed).failure);`;
      const [program = "", ...args] = [...respectingModes, process.execPath, "--input-type=module", "-e", script];
      return spawnSync(program, args, { encoding: "utf8" }).stdout;
    };

    it("names a directory that it can't enter", () => {
      const locked = lock();
      expect(failureOf({ command: "true", cwd: locked })).toBe(
        `Could not start true: permission to enter the directory ${locked} was denied.\n`,
      );
    });

    it("distinguishes missing programs from those that are not executable, even if a directory of PATH is locked", () => {
      const directory = mkdtempSync(join(tmpdir(), "programs-"));
      onTestFinished(() => rmSync(directory, { recursive: true }));
      writeFileSync(join(directory, "plain"), "");
      const env = { PATH: [lock(), directory].join(":") };
      expect(failureOf({ command: "missing", env })).toMatch(/^Could not start missing: no such program/);
      expect(failureOf({ command: "plain", env })).toBe(
        "Could not start plain: it is not executable. Check its mode.\n",
      );
    });
  });

  it("tolerates a process that does not read its input", async () => {
    const started = startProcess({ command: "true", tag: "unread", stdin: "x".repeat(1_000_000) });
    expect(await started.closed).toEqual({ code: 0, signal: null });
  });
});

describe("process info", needs("Linux", isLinux), () => {
  it("distinguishes processes and boots", async () => {
    expect(processStartTime(process.pid)).toBeGreaterThan(0);
    expect(processStartTime(process.pid)).toBe(processStartTime(process.pid));
    expect(bootId()).toMatch(/^[0-9a-f-]{36}$/);
    const ended = startProcess({ command: "true", tag: "info" });
    await ended.closed;
    expect(processStartTime(ended.pid ?? 0)).toBeUndefined();
  });

  it("reads names that contain brackets and spaces", async () => {
    const started = await startScript("printf ') R 1 2 (' > /proc/$$/comm; echo ready; read -r", { stdinOpen: true });
    expect(readProcess(started.pid ?? 0)).toMatchObject({
      parent: process.pid,
      group: started.pid,
      startTime: started.startTime,
    });
    started.stdin?.end("\n");
    await started.exit;
  });
});

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise((done) => stream.on("close", done));
  return Buffer.concat(chunks).toString();
}
