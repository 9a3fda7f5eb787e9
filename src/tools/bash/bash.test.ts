import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { createTestTexts, type TestTexts } from "../shared/test-texts.test-support.ts";
import { isAlive, testContext } from "../shared/tool-context.test-support.ts";
import { callTool, createToolPlace, type ToolPlace, textOfOutput } from "../shared/tool-place.test-support.ts";
import { type BashDependencies, createBashTool } from "./bash.ts";
import { createShells, type Shells } from "./shells.ts";

let place: ToolPlace;
let shells: Shells;
let outputDirectory: string;
let results: TestTexts;
beforeEach(() => {
  place = createToolPlace();
  shells = createShells();
  results = createTestTexts();
  outputDirectory = join(mkdtempSync(join(tmpdir(), "output-")), "not-yet-there");
});
afterEach(async () => {
  await shells.release("main");
  place.remove();
  rmSync(join(outputDirectory, ".."), { recursive: true });
});

async function bash(
  input: string | { command: string; timeout?: number },
  { context = testContext(), ...own }: Partial<BashDependencies> & { context?: ReturnType<typeof testContext> } = {},
) {
  const tool = createBashTool({ workspace: place.workspace, shells, results, outputDirectory, ...own });
  const output = await callTool(tool, typeof input === "string" ? { command: input } : input, context);
  return { ...output, text: textOfOutput(output) };
}

const pidIn = (name: string) => Number(place.get(name).trim());

describe("Bash", () => {
  it("returns the output and reports success", async () => {
    const { text, isError, facts } = await bash("echo out; echo err >&2");
    expect(text.split("\n").sort()).toEqual(["err", "out"]);
    expect(isError).toBe(false);
    expect(facts).toEqual({ command: { command: "echo out; echo err >&2", exitCode: 0 } });
    expect((await bash("true")).text).toBe("(no output)");
  });

  it("reports the exit code and the signal", async () => {
    const failed = await bash("echo no; exit 3");
    expect(failed).toMatchObject({ text: "no\n[Exit code 3.]", isError: true });
    expect(failed.facts?.command?.exitCode).toBe(3);
    const killed = await bash("kill -SEGV $$");
    expect(killed.text).toContain("[Terminated by SIGSEGV.]");
    expect(killed.facts?.command?.exitCode).toBeNull();
  });

  it("starts in the root every time, with empty input and the id of the call", async () => {
    mkdirSync(join(place.root, "sub"));
    expect((await bash("cd sub && pwd")).text).toBe(join(place.root, "sub"));
    expect((await bash("pwd")).text).toBe(place.root);
    expect((await bash("cat; echo read")).text).toBe("read");
    expect((await bash("echo $RETINUE_CALL_ID", { context: testContext({ callId: "c42" }) })).text).toBe("c42");
  });

  it("accepts a command that looks like an option, and rejects commands that shells reject", async () => {
    expect((await bash("-x")).text).toContain("Exit code 127");
    expect((await bash("  ")).text).toBe("The command is empty. Pass the command to run.");
    expect((await bash("echo \0")).text).toContain("NUL");
    expect((await bash(`echo ${"x".repeat(130_000)}`)).text).toContain("Write it to a file");
  });

  it("reassembles characters that arrive in pieces, on both streams at once", async () => {
    const { text } = await bash("printf '\\xe2\\x82'; sleep 0.05; printf 'é' >&2; sleep 0.05; printf '\\xac'");
    // On a busy machine, the end of the first stream can be read before the second stream.
    expect(["é€", "€é"]).toContain(text);
  });

  it("keeps the last state of a redrawn line, and no escape sequences", async () => {
    expect((await bash("printf '10%%\\r20%%\\r\\033[1mdone\\033[0m\\nnext\\r\\n'")).text).toBe("done\nnext");
  });

  it("cuts long output in the middle, saves all of it and gives its address", async () => {
    const { text } = await bash("seq 1 20000", { context: testContext({ callId: "c7" }) });
    expect(text.length).toBeLessThan(30_000);
    expect(text).toMatch(/^1\n2\n3\n/);
    expect(text).toContain("20000");
    expect(text).toContain("[To see the full output (106 KB), open retinue://result/c7 with Read or Grep.]");
    const all = Array.from({ length: 20_000 }, (_, index) => index + 1);
    expect(results.texts.get("retinue://result/c7")).toBe(`${all.join("\n")}\n`);
    expect(readdirSync(outputDirectory)).toEqual([]);
  });

  it("mentions Read and Grep only if a command failed to open an address", async () => {
    const { text } = await bash("cat retinue://result/c7 | head -n 3");
    expect(text).toMatch(/No such file.*\n\[Addresses such as retinue:\/\/result\/ID are not files\./);
    for (const command of ["echo retinue://result/c7", "cat missing retinue:", "grep retinue://result/ missing"])
      expect((await bash(command)).text).not.toContain("not files");
  });

  it("writes no file for short output", async () => {
    await bash("echo short");
    expect(existsSync(outputDirectory)).toBe(false);
  });

  it("reports that the full output could not be saved", async () => {
    const file = place.put("a-file", "");
    const { text } = await bash("seq 1 20000", { outputDirectory: join(file, "x") });
    expect(text).toContain("could not be saved");
    expect(text).toContain("20000");
    const full = { ...results, saveFile: () => Promise.reject(new Error("The disk is full.")) };
    expect((await bash("seq 1 20000", { results: full })).text).toContain("could not be saved. The disk is full.");
    expect(readdirSync(outputDirectory)).toEqual([]);
  });

  it("stops a command that prints forever", async () => {
    const limits = { headBytes: 100, tailBytes: 100, fileBytes: 1_000_000 };
    const { text, isError } = await bash("yes", { limits });
    expect(isError).toBe(true);
    expect(text).toContain("Stopped: the output exceeded 977 KB.");
    expect(text).toContain("retinue://result/call1");
    expect(results.texts.get("retinue://result/call1")?.length).toBeLessThan(1_200_000);
  });

  it("reports the last line while it runs", async () => {
    const context = testContext();
    await bash("echo first", { context });
    expect(context.told).toEqual(["first"]);
  });

  it("stops at its timeout and returns the output so far", async () => {
    const { text, isError, facts } = await bash({ command: "echo begun; sleep 60", timeout: 300 });
    expect(text).toContain("begun\n[Timed out after 300 ms and was stopped.");
    expect(isError).toBe(true);
    expect(facts?.command?.exitCode).toBeNull();
  });

  it("has a longer time limit in the executor than its own timeout", () => {
    const tool = createBashTool({ workspace: place.workspace, shells, results, outputDirectory });
    expect(tool.timeoutMs?.({ timeout: 1_000 })).toBeGreaterThan(1_000);
    expect(tool.timeoutMs?.({})).toBeGreaterThan(120_000);
  });

  it("stops the command and everything it started when the signal is aborted", async () => {
    const controller = new AbortController();
    const context = testContext({ signal: controller.signal });
    const pending = bash("setsid sleep 61 & echo $! > pid; echo ready; sleep 62", {
      context: { ...context, progress: () => controller.abort() },
    });
    expect((await pending).text).toContain("[Cancelled.]");
    expect(isAlive(pidIn("pid"))).toBe(false);
  });

  it.each([
    ["a background child that holds the output", "sleep 63 & echo $! > pid"],
    ["one with its own session", "setsid sleep 64 & echo $! > pid"],
    ["a daemon without output", "(setsid nohup sleep 65 >/dev/null 2>&1 & echo $! > pid)"],
  ])("does not wait for %s, and ends it", async (_what, command) => {
    const { text, isError } = await bash({ command: `${command}; echo done`, timeout: 20_000 });
    expect(text).toBe("done");
    expect(isError).toBe(false);
    expect(isAlive(pidIn("pid"))).toBe(false);
  });

  it("ends a running command when its agent is released", async () => {
    const tool = createBashTool({ workspace: place.workspace, shells, results, outputDirectory });
    let released: Promise<void> | undefined;
    const context = { ...testContext(), progress: () => (released ??= tool.release?.("main")) };
    const output = await callTool(tool, { command: "echo $$ > pid; echo ready; sleep 66" }, context);
    await released;
    expect(textOfOutput(output)).toContain("Terminated by SIG");
    expect(isAlive(pidIn("pid"))).toBe(false);
  });

  it("uses sh if there is no bash, and reports that there is no shell if both are missing", async () => {
    const bin = join(place.root, "bin");
    mkdirSync(bin);
    symlinkSync("/bin/sh", join(bin, "sh"));
    const withSh = createLocalWorkspace({ root: place.root, environment: { PATH: bin } });
    expect((await bash("echo hi", { workspace: withSh })).text).toBe(
      "hi\n[bash is not available, so sh ran the command.]",
    );
    const nothing = createLocalWorkspace({ root: place.root, environment: { PATH: join(place.root, "empty") } });
    const output = await bash("echo hi", { workspace: nothing });
    expect(output.text).toContain("Neither bash nor sh could be started");
    expect(output.isError).toBe(true);
  });

  it("reads no startup files", async () => {
    writeFileSync(join(place.root, ".bashrc"), "echo rc\n");
    writeFileSync(join(place.root, ".bash_profile"), "echo profile\n");
    const environment = { ...process.env, HOME: place.root, BASH_ENV: join(place.root, ".bashrc") };
    const workspace = createLocalWorkspace({ root: place.root, environment });
    expect((await bash("echo only", { workspace })).text).toBe("only");
  });
});
