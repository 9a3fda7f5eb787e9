import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { runShell } from "./run-shell.ts";

const cwd = tmpdir();
const never = new AbortController().signal;

describe("a user's shell command", () => {
  it("returns its output, and its exit code if it failed", async () => {
    expect(await runShell("echo out; echo err >&2", { cwd, signal: never })).toBe("out\nerr");
    expect(await runShell("echo no; exit 3", { cwd, signal: never })).toBe("no\n(exit code 3)");
    expect(await runShell("true", { cwd: "/nowhere", signal: never })).toContain("ENOENT");
  });

  it("ends even if a process that it left behind keeps its output open", async () => {
    expect(await runShell("setsid sleep 20 & echo started", { cwd, signal: never })).toBe("started");
  });

  it("can be stopped, even if it ignores the first signal", async () => {
    const stopping = new AbortController();
    const running = runShell("trap '' TERM; echo begun; sleep 20 & wait; sleep 20", { cwd, signal: stopping.signal });
    setTimeout(() => stopping.abort(), 200);
    expect(await running).toBe("begun\n(stopped)");
  });

  it("can be stopped when its group has already ended", async () => {
    const stopping = new AbortController();
    const running = runShell("setsid sleep 20 &", { cwd, signal: stopping.signal });
    setTimeout(() => stopping.abort(), 100);
    expect(await running).toBe("");
  });
});
