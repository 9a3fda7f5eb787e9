import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolExecutor, Workspace } from "../ports/index.ts";
import { type Policy, type Rule, textOf } from "../protocol/index.ts";
import { createWorkerTools } from "../tools/index.ts";
import { createLocalWorkspace, createSandbox, type Sandbox } from "../workspace/index.ts";
import { needsSandbox } from "../workspace/sandbox/sandbox.test-support.ts";
import { createExecutor, judgeCall } from "./index.ts";

let top = "";
let root = "";
let sandbox: Sandbox;
let workspace: Workspace;
let executor: ToolExecutor;

beforeEach(() => {
  // The files must not be in /tmp, because commands in the sandbox see a different /tmp.
  top = realpathSync(mkdtempSync("/var/tmp/read-only-effects-"));
  root = join(top, "project");
  put("project/a.ts", "plain\n");
  put("project/.env", "key=SECRET\n");
  put("outside/.env", "key=SECRET\n");
  mkdirSync(join(top, "outside/public"));
  symlinkSync("../outside/public", join(root, "public"));
  put("evil.sh", `#!/bin/sh\ntouch ${canary()} ${join(root, "canary")}\n`, 0o755);
  sandbox = createSandbox({
    ...{ mode: "require", scratch: join(top, "scratch"), userHome: top, writable: [], hidden: [], shown: [] },
    ...{ domains: [], tell: () => undefined },
  });
  workspace = createLocalWorkspace({ root, environment: process.env, home: top, sandbox });
  const results = { save: async () => "", saveFile: async () => "retinue://result/r1" };
  const tools = createWorkerTools({ sessionId: basename(top), workspace, results, outputDirectory: join(top, "out") });
  executor = createExecutor({ tools, workspace, results, home: top });
});
afterEach(async () => {
  await executor.close();
  await sandbox.close();
  rmSync(top, { recursive: true, force: true });
});

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(top, path)), { recursive: true });
  writeFileSync(join(top, path), text, { mode });
}

/** Lists the files in the workspace with their contents. */
const listing = (): string =>
  execFileSync("sh", ["-c", "ls -lR; cat a.ts f.txt .env"], { cwd: root, encoding: "utf8" });

const canary = (): string => join(top, "canary");
const rule = (effect: Rule["effect"], text: string): Rule => ({ text, effect, scope: "user" });

function policyWith(changes: Partial<Policy>): Policy {
  return {
    ...{ mode: "default", pool: ["Bash"], rules: [], workspaceRoots: [root], readableRoots: [] },
    ...changes,
  };
}

/** Runs a command through the executor. */
async function bash(command: string, changes: Partial<Policy> = {}) {
  const policy = policyWith(changes);
  const call = { callId: "c1", name: "Bash", inputJson: JSON.stringify({ command }) };
  const ran = await executor.execute({ agentId: "main", call, policy }, () => {}, new AbortController().signal);
  return { outcome: ran.outcome, text: textOf(ran.content) };
}

interface Row {
  readonly id: string;
  readonly setup: Partial<Record<Rule["effect"], readonly string[]>> & { mode: Policy["mode"]; fs?: unknown };
  readonly input: { readonly command: string };
  readonly acceptable: readonly string[];
}

/** Attack commands that would need approval without a sandbox. */
const attacks = readFileSync(join(import.meta.dirname, "../permissions/fixtures/bash-attacks.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row)
  .filter(({ acceptable, setup }) => !acceptable.includes("allow") && setup.fs === undefined);

describe("a command that no rule allows", needsSandbox, () => {
  it("never has an effect if it is an attack that runs without approval", { timeout: 120_000 }, async () => {
    if ((await sandbox.ready()).kind !== "on") return;
    put("project/f.txt", "a\n");
    const before = listing();
    const ran: string[] = [];
    for (const { id, setup, input } of attacks) {
      const command = input.command.replaceAll("{CANARY}", canary());
      const effects = ["allow", "ask", "deny"] as const;
      const rules = effects.flatMap((effect) => (setup[effect] ?? []).map((text) => rule(effect, text)));
      const policy = policyWith({ mode: setup.mode, rules });
      const { decision } = await judgeCall(
        { toolName: "Bash", input: { command }, policy },
        { workspace, homes: [top] },
      );
      if (decision.effect !== "allow") continue;
      expect([id, decision.readsOnly]).toEqual([id, true]);
      await bash(command, policy);
      ran.push(id);
    }
    expect(ran).toEqual(expect.arrayContaining(["BASH-138", "BASH-193", "BASH-246", "BASH-247"]));
    expect(existsSync(canary())).toBe(false);
    expect(listing()).toEqual(before);
  });

  it("can't read a file through `..` after a symlink or a missing directory", async () => {
    const rules = [rule("allow", "Bash(cat ./public/*)")];
    expect((await bash("cat ./public/../.env", { rules })).text).not.toContain("SECRET");
    rmSync(join(root, "public"));
    expect((await bash("cat ./public/../.env", { rules })).text).not.toContain("SECRET");
    mkdirSync(join(root, "public"));
    const denied = await bash("cat ./public/../.env", { rules: [...rules, rule("deny", "Read(.env)")] });
    expect(denied.outcome ?? "denied").toBe("denied");
  });

  it.each([
    "cat $(ls -A)",
    "grep -r key .",
    "find . -type f | xargs cat",
    "for f in .e*; do cat $f; done",
    "cat < .env",
  ])("does not show secrets that no rule names: %s", async (command) => {
    expect((await bash(command)).text).not.toContain("SECRET");
    expect((await bash(command, { rules: [rule("allow", "Read(.env)")] })).text).toContain("SECRET");
  });

  it("runs no programs from a bare repository inside the working tree", async () => {
    execFileSync("git", ["init", "-q", "--bare", join(root, "sub")]);
    const config = `[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = ${join(top, "evil.sh")}\n`;
    writeFileSync(join(root, "sub/config"), config);
    await bash("cd sub && git status");
    expect([canary(), join(root, "canary")].filter(existsSync)).toEqual([]);
  });

  it.each(["ls; awk 'BEGIN{system(\"touch canary\")}'", "ls | sed '1e touch canary'", "ls; git diff; touch canary"])(
    "has no effect if it follows one that a rule allows: %s",
    async (command) => {
      await bash(command, { rules: [rule("allow", "Bash(ls:*)")] });
      expect(existsSync(join(root, "canary"))).toBe(false);
    },
  );

  it.each([
    ["ls > out; git status", "acceptEdits"],
    ["git status > out", "acceptEdits"],
    ["mkdir x; git status", "default"],
    ["ls; git status", "default"],
  ] as const)("does not run programs that the repository configures: %s", async (command, mode) => {
    const git = (...args: string[]) => execFileSync("git", ["-C", root, ...args]);
    git("init", "-q");
    git("add", "a.ts");
    const rules = [rule("allow", "Bash(ls:*)"), rule("allow", "Bash(mkdir:*)")];
    expect((await bash(command, { rules, mode })).outcome).toBe("ok");
    put("project/.gitattributes", "*.ts filter=evil\n");
    git("config", "filter.evil.clean", join(top, "evil.sh"));
    // The new content has the same size, so git has to run the filter to find out whether the file has changed.
    put("project/a.ts", "other\n");
    await bash(command, { rules, mode });
    expect([canary(), join(root, "canary")].filter(existsSync)).toEqual([]);
  });

  it.each([
    ["default", ["grep -r . .", "grep -r . $(echo .)", "find . -type f -exec cat {} +", "ls -a | xargs cat"]],
    ["bypassPermissions", ["grep -r . .", "find . -type f -exec cat {} +"]],
  ] as const)("can't read a file that a rule denies, in mode %s", async (mode, commands) => {
    const rules = [rule("allow", "Bash(grep:*)"), rule("deny", "Read(.env)")];
    for (const command of commands) {
      const ran = await bash(command, { rules, mode });
      expect(ran.text).not.toContain("SECRET");
      if (ran.outcome === "ok") expect(ran.text).toContain("plain");
    }
  });
});
