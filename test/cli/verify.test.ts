import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ApiServer, Step } from "../../src/testing/index.ts";
import { createPlace, ended, type Place, resultOf, retinue, serve, startRetinue } from "./command-line.ts";

function createRepository(): Place {
  const place = createPlace();
  mkdirSync(place.home, { mode: 0o700 });
  writeFileSync(join(place.home, "settings.json"), JSON.stringify({ sandbox: "off", verify: "auto" }));
  const author = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
  const git = (...words: string[]) => execFileSync("git", [...author, ...words], { cwd: place.cwd, stdio: "ignore" });
  git("init", "-q", "--template=");
  git("commit", "-q", "--allow-empty", "-m", "first");
  return place;
}

const says = (content: string, more: Partial<Step> = {}): Step => ({ reply: { content }, ...more });
const calls = (tool: string, input: object): Step => ({ reply: { content: [{ tool, input }] } });
const write = (file_path: string) => calls("Write", { file_path, content: "text\n" });
const bash = (command: string) => calls("Bash", { command });
/** Never answers the first request. A process that is resumed gets the answer. */
const hangs = (content: string) => says(content, { faults: [{ kind: "hang" }] });

function play(main: readonly Step[], verification: readonly Step[], child: readonly Step[] = []): Promise<ApiServer> {
  return serve({
    conversations: [
      { match: { firstUserContains: "The request:" }, steps: verification },
      { match: { firstUserContains: "CHILD" }, steps: child },
      { match: { firstUserContains: "MAIN" }, steps: main },
    ],
  });
}

const mode = ["--permission-mode", "bypassPermissions", "--output-format", "json"];
const passes = [bash("git status"), says("VERDICT: pass")];

/** Starts a run and ends its process when the server has received this number of requests. */
async function cutAt(requests: number, signal: "SIGKILL" | "SIGINT", place: Place, server: ApiServer) {
  const child = startRetinue(["-p", "MAIN: make it", ...mode], { ...place, server });
  child.stdin.end();
  const end = ended(child);
  await server.waitForRequest(requests);
  child.kill(signal);
  return end;
}

const resume = (place: Place, server: ApiServer) => retinue(["-p", "--continue", ...mode], { ...place, server });

describe("verify: auto", () => {
  it.each([
    ["SIGKILL", null],
    ["SIGINT", 130],
  ] as const)("verifies changes made before %s, once the session is resumed", async (signal, code) => {
    const place = createRepository();
    const server = await play([write("a.txt"), hangs("Made.")], passes);
    expect((await cutAt(2, signal, place, server)).code).toBe(code);
    const resumed = await resume(place, server);
    expect(resumed).toMatchObject({ code: 0 });
    expect(resultOf(resumed)).toMatchObject({ verified: true, acceptance: { command: "Verification" } });
    server.assertDone();
  });

  it("verifies again if the process is killed during the verification", async () => {
    const place = createRepository();
    const server = await play(
      [write("a.txt"), says("Made."), says("Still.")],
      [bash("git status"), hangs("VERDICT: pass")],
    );
    await cutAt(4, "SIGKILL", place, server);
    const resumed = await resume(place, server);
    expect(resumed.code).toBe(4);
    expect(resultOf(resumed)).toMatchObject({ verified: false, acceptance: { verdict: "inconclusive" } });
    server.assertDone();
  });

  it("verifies what a command changed that the process did not outlive", async () => {
    const place = createRepository();
    const command = "touch a.txt; kill -9 $PPID; sleep 60";
    const server = await play([bash(command), says("Made.")], passes);
    const killed = startRetinue(["-p", "MAIN: make it", ...mode], { ...place, server });
    killed.stdin.end();
    await ended(killed);
    const resumed = await resume(place, server);
    expect(resultOf(resumed)).toMatchObject({ verified: true });
  });

  it("says in the result and on standard error that nothing was verified if the run was cut, and does so later", async () => {
    const place = createRepository();
    const server = await play([write("a.txt"), says("Made.")], passes);
    const cut = await retinue(["-p", "MAIN: make it", ...mode, "--max-turns", "1"], { ...place, server });
    expect(cut.code).toBe(3);
    expect(resultOf(cut)).toMatchObject({ verified: false, acceptance: { verdict: "inconclusive" } });
    expect(cut.stderr).toContain("its changes are not verified: a.txt.");
    const resumed = await resume(place, server);
    expect(resumed).toMatchObject({ code: 0 });
    expect(resultOf(resumed)).toMatchObject({ verified: true });
    server.assertDone();
  });

  it("results in exit code 4 if the process is killed after a failed verification and nothing is changed after that", async () => {
    const place = createRepository();
    const fails = [bash("git status"), says("VERDICT: fail")];
    const server = await play([write("a.txt"), says("Made."), hangs("It is right.")], fails);
    await cutAt(5, "SIGKILL", place, server);
    const resumed = await resume(place, server);
    expect(resumed.code).toBe(4);
    expect(resultOf(resumed)).toMatchObject({ verified: false, acceptance: { verdict: "fail" } });
    server.assertDone();
  });

  it("verifies the changes of background agents, also of those that were lost with the process", async () => {
    const place = createRepository();
    const input = { description: "work", prompt: "CHILD", subagent_type: "general-purpose", run_in_background: true };
    const server = await play([calls("Task", input), says("I wait."), says("Made.")], passes, [
      write("a.txt"),
      hangs("Done."),
    ]);
    await cutAt(4, "SIGKILL", place, server);
    const resumed = await resume(place, server);
    expect(resumed).toMatchObject({ code: 0 });
    expect(resultOf(resumed)).toMatchObject({ verified: true, facts: { filesChanged: ["a.txt"] } });
  });

  it("results in exit code 4 if no verification is possible", async () => {
    const place = createRepository();
    const server = await play([write("a.txt"), says("Made.")], []);
    const words = ["-p", "MAIN: make it", ...mode, "--disallowed-tools", "Task(Verification)"];
    const run = await retinue(words, { ...place, server });
    expect(run.code).toBe(4);
    expect(resultOf(run)).toMatchObject({ verified: false });
    expect(run.stderr).toContain("denies it");
  });
});
