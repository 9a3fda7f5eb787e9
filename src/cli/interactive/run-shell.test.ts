import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { runShell } from "./run-shell.ts";

const cwd = tmpdir();
const never = new AbortController().signal;
const run = async (command: string, signal = never): Promise<string> => (await runShell(command, { cwd, signal })).text;

describe("a user's shell command", () => {
  it("returns its output, and its exit code if it failed", async () => {
    expect(await run("echo out; echo err >&2")).toBe("out\nerr");
    expect(await run("echo no; exit 3")).toBe("no\n(exit code 3)");
    expect((await runShell("true", { cwd: "/nowhere", signal: never })).text).toContain("ENOENT");
  });

  it("keeps the start and the end of a long output, and counts all lines", async () => {
    const { text, lines } = await runShell("seq 1 500000", { cwd, signal: never });
    expect(text).toMatch(/^1\n2\n[\s\S]*left out[\s\S]*\n499999\n500000$/);
    expect(text.length).toBeLessThan(31_000);
    expect(lines).toBe(500_000);
  });

  it("ends even if a process that it left behind keeps its output open", async () => {
    expect(await run("setsid sleep 20 & echo started")).toBe("started");
  });

  it("can be stopped, even if it ignores the first signal", async () => {
    const stopping = new AbortController();
    const running = run("trap '' TERM; echo begun; sleep 20 & wait; sleep 20", stopping.signal);
    setTimeout(() => stopping.abort(), 200);
    expect(await running).toBe("begun\n(stopped)");
  });

  it("can be stopped when its group has already ended", async () => {
    const stopping = new AbortController();
    const running = run("setsid sleep 20 &", stopping.signal);
    setTimeout(() => stopping.abort(), 100);
    expect(await running).toBe("");
  });
});
