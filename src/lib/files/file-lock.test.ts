import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buildSync } from "esbuild";
import { describe, expect, it, onTestFinished } from "vitest";
import { thisProcess } from "../processes/process-identity.ts";
import { claimPath, type FileLock, lockOwner, tryLock, withFileLock } from "./file-lock.ts";

const alive = thisProcess();
const deadOwners = [
  ["a process that has ended", JSON.stringify({ ...alive, pid: 2 ** 22 + 1 })],
  ["a process whose pid was reused", JSON.stringify({ ...alive, startTime: (alive.startTime ?? 0) + 1 })],
  ["a process from an earlier boot", JSON.stringify({ ...alive, boot: "an-earlier-boot" })],
  ["an unknown owner, because a power cut emptied the file", ""],
] as const;

function directory(): string {
  const root = mkdtempSync(join(tmpdir(), "retinue-lock-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

function lockPath(): string {
  return join(directory(), "lock");
}

function leaveLock(path: string, text: string): void {
  writeFileSync(path, text);
  utimesSync(path, 1, 1);
}

function acquire(path: string): FileLock {
  const attempt = tryLock(path);
  if (!("release" in attempt)) throw new Error(`held by ${attempt.owner?.pid}`);
  return attempt;
}

describe("a lock", () => {
  it("has one owner until it is released", () => {
    const path = lockPath();
    const lock = acquire(path);
    expect(tryLock(path)).toEqual({ owner: alive });
    expect(lockOwner(path)).toEqual(alive);
    lock.release();
    expect(lockOwner(path)).toBeUndefined();
    acquire(path).release();
    expect(readdirSync(join(path, ".."))).toEqual([]);
  });

  it.each(deadOwners)("is taken over from %s", (_, text) => {
    const path = lockPath();
    leaveLock(path, text);
    expect(lockOwner(path)).toBeUndefined();
    const lock = acquire(path);
    expect(lock.tookOver).toBe(true);
    expect(lockOwner(path)).toEqual(alive);
    expect(readdirSync(join(path, ".."))).toEqual(["lock"]);
    lock.release();
    expect(existsSync(path)).toBe(false);
  });

  it("is not taken over while it is being written", () => {
    const path = lockPath();
    writeFileSync(path, "");
    expect(tryLock(path)).toEqual({ owner: undefined });
    expect(readdirSync(join(path, ".."))).toEqual(["lock"]);
  });

  it("is not taken over from another machine", () => {
    const path = lockPath();
    const owner = { ...alive, host: "elsewhere", pid: 7 };
    writeFileSync(path, JSON.stringify(owner));
    expect(tryLock(path)).toEqual({ owner });
    expect(readFileSync(path, "utf8")).toContain("elsewhere");
  });

  it("is taken over from a process that died while taking it over", () => {
    const path = lockPath();
    const dead = JSON.stringify({ ...alive, boot: "earlier", nonce: "1" });
    writeFileSync(path, dead);
    // A contender leaves these files behind if it is killed between its claim and the replacement.
    const claim = claimPath(path, dead);
    writeFileSync(claim, JSON.stringify({ ...alive, boot: "earlier", nonce: "2" }));
    const lock = acquire(path);
    expect(lockOwner(path)).toEqual(alive);
    expect(existsSync(claim)).toBe(false);
    lock.release();
  });

  it("remains if its process exits without releasing it, and goes to exactly one of many contenders", async () => {
    const root = directory();
    const path = join(root, "lock");
    const program = join(root, "hold-lock.mjs");
    buildSync({
      entryPoints: [join(import.meta.dirname, "hold-lock.test-support.ts")],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile: program,
    });

    const first = await startHolder(program, path);
    expect(await first.go()).toBe("owner");
    first.child.stdin?.end();
    await once(first.child, "exit");
    expect(existsSync(path)).toBe(true);
    const heir = acquire(path);
    expect(heir.tookOver).toBe(true);
    heir.release();
    expect(existsSync(path)).toBe(false);

    const killed = await startHolder(program, path);
    expect(await killed.go()).toBe("owner");
    killed.child.kill("SIGKILL");
    await once(killed.child, "exit");
    expect(existsSync(path)).toBe(true);

    const rivals = await Promise.all(Array.from({ length: 6 }, () => startHolder(program, path)));
    const answers = await Promise.all(rivals.map((rival) => rival.go()));
    expect(answers.filter((answer) => answer === "owner")).toHaveLength(1);
    expect(answers.filter((answer) => answer === "held")).toHaveLength(5);
    for (const { child } of rivals) child.stdin?.end();
    await Promise.all(rivals.map(({ child }) => (child.exitCode === null ? once(child, "exit") : undefined)));
    expect(readdirSync(root).sort()).toEqual(["hold-lock.mjs", "lock"]);
  });
});

describe("withFileLock", () => {
  it("lets processes run one after another and leaves nothing behind", async () => {
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

  it("releases the lock if the work fails", async () => {
    const file = join(directory(), "a");
    await expect(withFileLock(file, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await withFileLock(file, async () => 7)).toBe(7);
  });

  it.each(deadOwners)("takes over the lock from %s, for one caller at a time", async (_, text) => {
    const root = directory();
    const file = join(root, "a");
    leaveLock(`${file}.lock`, text);
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
  ])("names an owner that %s if it holds the lock too long, and says what to do", async (_, owner) => {
    const file = join(directory(), "a");
    writeFileSync(`${file}.lock`, JSON.stringify(owner));
    await expect(withFileLock(file, async () => 1, { waitMs: 0 })).rejects.toMatchObject({
      message: `${file} is being changed by process ${owner.pid} on ${owner.host}`,
      fix: expect.stringContaining(`${file}.lock`),
    });
    expect(readFileSync(`${file}.lock`, "utf8")).toBe(JSON.stringify(owner));
  });
});

async function startHolder(program: string, path: string): Promise<{ child: ChildProcess; go(): Promise<string> }> {
  const child = spawn(process.execPath, [program, path], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("ready");
  return {
    child,
    async go() {
      child.stdin.write("go\n");
      return (await lines.next()).value ?? "";
    },
  };
}
