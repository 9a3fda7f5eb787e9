import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBashTool } from "../bash/bash.ts";
import { createShells, type Shells } from "../bash/shells.ts";
import { createKillShellTool } from "../kill-shell/kill-shell.ts";
import { createTestTexts, type TestTexts } from "../shared/test-texts.test-support.ts";
import { testContext } from "../shared/tool-context.test-support.ts";
import { callTool, createToolPlace, type ToolPlace, textOfOutput } from "../shared/tool-place.test-support.ts";
import { createBashOutputTool, filterLines } from "./bash-output.ts";

let place: ToolPlace;
let shells: Shells;
let outputDirectory: string;
let results: TestTexts;
let calls: number;
beforeEach(() => {
  place = createToolPlace();
  shells = createShells();
  results = createTestTexts();
  outputDirectory = mkdtempSync(join(tmpdir(), "output-"));
  calls = 0;
});
afterEach(async () => {
  await shells.release("main");
  await shells.release("other");
  place.remove();
  rmSync(outputDirectory, { recursive: true });
});

const context = (agentId = "main") => testContext({ agentId, callId: `call${++calls}` });

async function start(command: string, agentId = "main"): Promise<string> {
  const tool = createBashTool({ workspace: place.workspace, shells, results, outputDirectory });
  const output = await callTool(tool, { command, run_in_background: true }, context(agentId));
  expect(output.facts).toEqual({ command: { command, exitCode: null } });
  return /shell_\d+/.exec(textOfOutput(output))?.[0] ?? textOfOutput(output);
}

async function read(id: string, { filter, agentId }: { filter?: string; agentId?: string } = {}): Promise<string> {
  const tool = createBashOutputTool({ shells, results, waitMs: 5_000 });
  return textOfOutput(await callTool(tool, { bash_id: id, ...(filter && { filter }) }, context(agentId)));
}

const ended = (id: string, agentId = "main") => shells.find(agentId, id)?.exited;

const kill = async (id: string, agentId = "main") =>
  textOfOutput(await callTool(createKillShellTool({ shells }), { shell_id: id }, context(agentId)));

describe("a background shell", () => {
  it("returns only its new output", async () => {
    place.put("wait.sh", 'while [ ! -e "$1" ]; do sleep 0.02; done\n');
    const id = await start("echo one; sh wait.sh go; echo two; exit 4");
    expect(await read(id)).toBe(`${id}: running.\none`);
    place.put("go", "");
    await ended(id);
    expect(await read(id)).toBe(`${id}: Exit code 4.\ntwo`);
    expect(await read(id)).toBe(`${id}: Exit code 4.\n(no new output)`);
  });

  it("is waited for as long as the call says", async () => {
    place.put("wait.sh", 'while [ ! -e "$1" ]; do sleep 0.02; done\n');
    const id = await start("sh wait.sh go; echo ready");
    const tool = createBashOutputTool({ shells, results, waitMs: 1 });
    expect(tool.timeoutMs?.({ timeout: 600_000 })).toBeGreaterThan(600_000);
    const waiting = callTool(tool, { bash_id: id, timeout: 60_000 }, context("main"));
    place.put("go", "");
    expect(textOfOutput(await waiting)).toContain("ready");
  });

  it("does not block the call, and can be read after it ends", async () => {
    const controller = new AbortController();
    const tool = createBashTool({ workspace: place.workspace, shells, results, outputDirectory });
    const own = testContext({ signal: controller.signal });
    await callTool(tool, { command: "sleep 71", run_in_background: true }, own);
    controller.abort();
    expect(shells.list("main").map(({ end }) => end)).toEqual([undefined]);
  });

  it("returns limited output, and the address of the full text", async () => {
    place.put("wait.sh", 'while [ ! -e "$1" ]; do sleep 0.02; done\n');
    const id = await start("seq 1 50000; echo end; sh wait.sh go; seq 1 30000; echo end");
    const shell = shells.find("main", id);
    while (shell?.output.lastLine() !== "end") await new Promise((resolve) => setImmediate(resolve));
    const text = await read(id);
    expect(text.length).toBeLessThan(30_000);
    expect(text).toMatch(/\[To see the full output \(.* KB\), open retinue:\/\/result\/call2 with Read or Grep\.\]/);
    expect(results.texts.get("retinue://result/call2")).toMatch(/^1\n2\n(\d+\n)+50000\nend\n$/);
    place.put("go", "");
    await ended(id);
    expect(await read(id)).toContain("retinue://result/call3");
    expect(results.texts.get("retinue://result/call3")).toMatch(/^1\n2\n(\d+\n)+30000\nend\n$/);
    expect(readdirSync(outputDirectory)).toEqual([]);
  });

  it("leaves no file behind when its agent is released", async () => {
    const id = await start("seq 1 50000");
    await ended(id);
    expect(readdirSync(outputDirectory)).toHaveLength(1);
    await shells.release("main");
    expect(readdirSync(outputDirectory)).toEqual([]);
  });

  it("can be filtered by line", async () => {
    const id = await start("echo an error; echo fine; echo ERROR");
    await ended(id);
    expect(await read(id, { filter: "error" })).toBe(`${id}: Exit code 0.\nan error`);
  });

  it("keeps its output if the filter is invalid", async () => {
    const id = await start("echo kept");
    await ended(id);
    expect(await read(id, { filter: "(" })).toContain("not a valid regular expression");
    expect(await read(id)).toContain("kept");
  });

  it("is ended by KillShell, together with everything it started", async () => {
    const id = await start("setsid sleep 72 & sleep 73");
    expect(await kill(id)).toBe(`${id}: Terminated by SIGTERM.`);
    expect(await kill(id)).toContain("had already ended");
  });

  it("is accessible only to the agent that started it", async () => {
    const id = await start("sleep 74", "other");
    expect(await read(id)).toContain(`There is no shell ${id}. You have not started any`);
    expect(await kill(id)).toContain("There is no shell");
    await shells.release("main");
    expect(shells.find("other", id)?.end).toBeUndefined();
    const shell = shells.find("other", id);
    await shells.release("other");
    expect(shell?.end).toMatchObject({ signal: "SIGTERM" });
    expect(shells.list("other")).toEqual([]);
  });

  it("is not started if too many shells are running", async () => {
    for (let index = 0; index < 16; index++) await start("sleep 75");
    const tool = createBashTool({ workspace: place.workspace, shells, results, outputDirectory });
    const output = await callTool(tool, { command: "sleep 75", run_in_background: true }, context());
    expect(output).toMatchObject({
      isError: true,
      content: expect.stringContaining("16 background shells are already running"),
    });
    expect(shells.list("main")).toHaveLength(16);
  });
});

describe("filterLines", () => {
  it("stops a regular expression that would take forever", () => {
    expect(filterLines(`${"a".repeat(40)}!`, "^(a+)+$")).toMatchObject({ ok: false });
  });

  it("keeps matching lines, in order", () => {
    expect(filterLines("ab\nb\na\nbb", "b$")).toEqual({ ok: true, text: "ab\nb\nbb" });
  });
});
