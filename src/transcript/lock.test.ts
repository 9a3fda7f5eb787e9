import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { bootId, processStartTime } from "../lib/index.ts";
import { bundle } from "./bundle.test-support.ts";
import { acquireLock, claimPath, lockOwner } from "./lock.ts";
import { testPlace } from "./session.test-support.ts";

const alive = { host: hostname(), boot: bootId(), pid: process.pid, startTime: processStartTime(process.pid) };

function lockPath(): string {
  return join(testPlace().root, "lock");
}

describe("a lock", () => {
  it("has one owner until it is released", () => {
    const path = lockPath();
    const lock = acquireLock(path, "It");
    expect(() => acquireLock(path, "It")).toThrow(`It is in use by process ${process.pid}`);
    expect(lockOwner(path)).toEqual(alive);
    lock.release();
    expect(lockOwner(path)).toBeUndefined();
    acquireLock(path, "It").release();
    expect(readdirSync(join(path, ".."))).toEqual(["project"]);
  });

  it.each([
    ["a process that is gone", { ...alive, pid: 2 ** 22 + 1 }],
    ["a pid used again by another process", { ...alive, startTime: (alive.startTime ?? 0) + 1 }],
    ["an earlier boot", { ...alive, boot: "an-earlier-boot" }],
    ["nobody: it was emptied by a power cut", undefined],
  ])("is taken over from %s", (_, owner) => {
    const path = lockPath();
    writeFileSync(path, owner === undefined ? "" : JSON.stringify(owner));
    expect(lockOwner(path)).toBeUndefined();
    const lock = acquireLock(path, "It");
    expect(lockOwner(path)).toEqual(alive);
    expect(readdirSync(join(path, "..")).sort()).toEqual(["lock", "project"]);
    lock.release();
    expect(existsSync(path)).toBe(false);
  });

  it("of another machine is refused with the cure", () => {
    const path = lockPath();
    writeFileSync(path, JSON.stringify({ ...alive, host: "elsewhere", pid: 7 }));
    expect(() => acquireLock(path, "It")).toThrow("in use by process 7 on elsewhere");
    expect(readFileSync(path, "utf8")).toContain("elsewhere");
  });

  it("is taken over also from one who died while taking over", () => {
    const path = lockPath();
    const dead = JSON.stringify({ ...alive, boot: "earlier", nonce: "1" });
    writeFileSync(path, dead);
    // What is left when it is killed between its claim and the replacement.
    const claim = claimPath(path, dead);
    writeFileSync(claim, JSON.stringify({ ...alive, boot: "earlier", nonce: "2" }));
    const lock = acquireLock(path, "It");
    expect(lockOwner(path)).toEqual(alive);
    expect(existsSync(claim)).toBe(false);
    lock.release();
  });

  it("stays behind when its process exits without giving it up, and goes to exactly one of many", async () => {
    const place = testPlace();
    const path = join(place.root, "lock");
    const program = bundle("hold-lock", place.root);

    const first = await startHolder(program, path);
    expect(await first.go()).toBe("owner");
    first.child.stdin?.end();
    await once(first.child, "exit");
    expect(existsSync(path)).toBe(true);
    const heir = acquireLock(path, "It");
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
    expect(answers.filter((answer) => answer === "session_in_use")).toHaveLength(5);
    for (const { child } of rivals) child.stdin?.end();
    await Promise.all(rivals.map(({ child }) => (child.exitCode === null ? once(child, "exit") : undefined)));
    expect(readdirSync(place.root).sort()).toEqual(["hold-lock.mjs", "lock", "project"]);
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
