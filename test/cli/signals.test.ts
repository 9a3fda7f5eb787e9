import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { messagesOf } from "../../src/testing/index.ts";
import { isAlive } from "../../src/tools/shared/tool-context.test-support.ts";
import { createPlace, ended, resultOf, retinue, serve, startRetinue } from "./command-line.ts";

const hang = { kind: "hang" } as const;

describe("signals", () => {
  it("Ctrl+C ends a hanging request, and the session continues later with a valid conversation", async () => {
    const place = createPlace();
    const server = await serve([{ reply: { content: "Here I am." }, faults: [hang] }]);
    const child = startRetinue(["-p", "Wait", "--output-format", "stream-json"], { ...place, server });
    child.stdin.end();
    const end = ended(child);
    await server.waitForRequest(1);
    child.kill("SIGINT");
    const run = await end;
    expect(run).toMatchObject({ code: 130, signal: null });
    const result = resultOf(run);
    expect(result).toMatchObject({ type: "result", is_error: true, outcome: "stopped", reason: "interrupted" });
    expect(run.stderr).toContain(`--resume ${result.session_id}`);

    const resumed = await retinue(["-p", "Go on", "--resume", result.session_id], { ...place, server });
    expect(resumed).toMatchObject({ code: 0, stdout: "Here I am.\n" });
    const request = server.requests[1];
    if (!request) throw new Error("a second request was expected");
    expect(request.refusal).toBeUndefined();
    expect(JSON.stringify(messagesOf(request))).toContain("Go on");
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s ends the run with exit code %i", async (signal, code) => {
    const place = createPlace();
    const server = await serve([{ reply: { content: "never", fault: hang }, times: "always" }]);
    const child = startRetinue(["-p", "Wait", "--output-format", "json"], { ...place, server });
    child.stdin.end();
    const end = ended(child);
    await server.waitForRequest(1);
    child.kill(signal);
    const run = await end;
    expect(run.code).toBe(code);
    expect(resultOf(run)).toMatchObject({ outcome: "stopped", is_error: true });
  });

  it("Ctrl+C while the program is loading ends it with a result for programs", async () => {
    const place = createPlace();
    // The signal arrives before the program's main bundle is loaded.
    const preload = join(place.cwd, "preload.cjs");
    writeFileSync(preload, "process.nextTick(() => process.kill(process.pid, 'SIGINT'));");
    const environment = { NODE_OPTIONS: `--require=${preload}` };
    const child = startRetinue(["-p", "Map this repository", "--output-format", "json"], { ...place, environment });
    child.stdin.end();
    const run = await ended(child);
    expect(run.code).toBe(130);
    expect(resultOf(run)).toMatchObject({ outcome: "stopped", is_error: true });
  });

  it("Ctrl+C while waiting for standard input ends the program immediately, with a result for programs", async () => {
    const place = createPlace();
    const child = startRetinue(["-p", "--output-format", "json", "--verbose"], place);
    const end = ended(child);
    // By the time the program prints that it is waiting, its signal handlers are installed.
    await new Promise((settle) => child.stderr.once("data", settle));
    child.kill("SIGINT");
    const run = await end;
    expect(run.code).toBe(130);
    expect(resultOf(run)).toMatchObject({ outcome: "stopped", is_error: true });
  });

  it("Ctrl+C while an MCP server starts ends the server too, even an unresponsive one", async () => {
    const place = createPlace();
    const pidFile = join(place.cwd, "pid");
    const script = `require("fs").writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); setInterval(() => {}, 1000)`;
    const mcpServers = { mute: { command: process.execPath, args: ["-e", script] } };
    writeFileSync(join(place.cwd, ".mcp.json"), JSON.stringify({ mcpServers }));
    const child = startRetinue(["-p", "Hello", "--trust"], place);
    child.stdin.end();
    const end = ended(child);
    while (!existsSync(pidFile) || readFileSync(pidFile, "utf8") === "") await setTimeout(20);
    child.kill("SIGINT");
    const run = await end;
    expect(run).toMatchObject({ code: 130, stdout: "" });
    expect(run.stderr).toContain("retinue: Interrupted before the run began.");
    expect(() => process.kill(Number(readFileSync(pidFile, "utf8")), 0)).toThrow("ESRCH");
  });

  it("SIGTERM ends the program after a while even if a hook does not end", async () => {
    const place = createPlace();
    const hook = { type: "command", command: "echo $$ > begun; sleep 100; :", timeout: 100 };
    mkdirSync(place.home, { recursive: true });
    writeFileSync(join(place.home, "settings.json"), JSON.stringify({ hooks: { SessionEnd: [{ hooks: [hook] }] } }));
    const child = startRetinue(["-p", "Hi"], { ...place, server: await serve([{ content: "Hello." }]) });
    child.stdin.end();
    const end = ended(child);
    const begun = join(place.cwd, "begun");
    while (!existsSync(begun) || readFileSync(begun, "utf8") === "") await setTimeout(20);
    child.kill("SIGTERM");
    expect(await end).toMatchObject({ code: 143, signal: null });
    await expect.poll(() => isAlive(Number(readFileSync(begun, "utf8")))).toBe(false);
  }, 40_000);

  it("an uncaught error produces a result for programs and no stack trace for people", async () => {
    const place = createPlace();
    const server = await serve([{ reply: { content: "never", fault: hang }, times: "always" }]);
    const plant = 'process.on("SIGUSR2", () => { throw new Error("planted"); })';
    const environment = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(plant)}` };
    const child = startRetinue(["-p", "Wait", "--output-format", "stream-json"], { ...place, server, environment });
    child.stdin.end();
    const end = ended(child);
    await server.waitForRequest(1);
    child.kill("SIGUSR2");
    const run = await end;
    expect(run.code).toBe(1);
    expect(resultOf(run)).toMatchObject({ type: "result", is_error: true, errors: ["planted"] });
    expect(run.stderr).toBe("retinue: planted. This is a bug in Retinue; RETINUE_DEBUG=1 shows where.\n");
  });

  it("the transcript records that the run has ended", async () => {
    const place = createPlace();
    const server = await serve([{ reply: { content: "never" }, faults: [hang], times: "always" }]);
    const child = startRetinue(["-p", "Wait"], { ...place, server });
    child.stdin.end();
    const end = ended(child);
    await server.waitForRequest(1);
    child.kill("SIGINT");
    expect((await end).stdout).toBe("");
    const list = await retinue(["sessions", "list", "--json"], place);
    const [session] = JSON.parse(list.stdout) as { path: string; inUse: boolean; lastOutcome: string }[];
    expect(session).toMatchObject({ inUse: false, lastOutcome: "stopped" });
    const last =
      readFileSync(session?.path ?? "", "utf8")
        .trimEnd()
        .split("\n")
        .at(-2) ?? "";
    expect(JSON.parse(last)).toMatchObject({ type: "run.ended", reason: "interrupted" });
  });
});
