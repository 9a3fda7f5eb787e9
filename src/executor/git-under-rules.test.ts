import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolExecutor } from "../ports/index.ts";
import type { Policy, PolicyLayer, Rule, RuleScope } from "../protocol/index.ts";
import { createWorkerTools } from "../tools/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { createExecutor } from "./index.ts";

let top = "";
let root = "";
let executor: ToolExecutor;

const git = (...args: string[]) =>
  execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", ...args]);

/** Creates a repository whose configuration names a program for everything that git can run while it reads. */
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "git-under-rules-")));
  root = join(top, "project");
  mkdirSync(root);
  git("init", "-q");
  writeFileSync(join(root, "a.ts"), "one\n");
  git("add", "a.ts");
  git("commit", "-qm", "one");
  const evil = join(top, "evil.sh");
  writeFileSync(evil, `#!/bin/sh\ntouch ${join(top, "canary")}\n`, { mode: 0o755 });
  mkdirSync(join(root, "hooks"));
  for (const name of ["post-index-change", "pre-commit", "reference-transaction"])
    writeFileSync(join(root, "hooks", name), `#!/bin/sh\ntouch ${join(top, "canary")}\n`, { mode: 0o755 });
  writeFileSync(join(root, ".gitattributes"), "*.ts filter=evil diff=evil\n");
  writeFileSync(join(root, "a.ts"), "two\n");
  for (const [key, value] of [
    ["filter.evil.clean", evil],
    ["filter.evil.smudge", evil],
    ["diff.external", evil],
    ["diff.evil.textconv", evil],
    ["diff.evil.command", evil],
    ["core.fsmonitor", evil],
    ["core.hooksPath", join(root, "hooks")],
    ["core.pager", evil],
    ["pager.log", evil],
  ] as const)
    git("config", key, value);
  const workspace = createLocalWorkspace({ root, environment: process.env, home: top });
  const results = { save: async () => "", saveFile: async () => "retinue://result/r1" };
  const tools = createWorkerTools({ sessionId: "git", workspace, results, outputDirectory: join(top, "out") });
  executor = createExecutor({ tools, workspace, results, home: top });
});
afterEach(async () => {
  await executor.close();
  rmSync(top, { recursive: true, force: true });
});

interface Situation {
  readonly scope?: RuleScope;
  readonly layers?: readonly PolicyLayer[];
}

async function run(command: string, allow: readonly string[], { scope = "user", layers }: Situation = {}) {
  const rules = allow.map((text): Rule => ({ text, effect: "allow", scope }));
  const policy: Policy = {
    ...{ mode: "default", pool: ["Bash"], rules, layers, workspaceRoots: [root], readableRoots: [] },
    unattended: true,
  };
  const call = { callId: "c1", name: "Bash", inputJson: JSON.stringify({ command }) };
  const { outcome } = await executor.execute({ agentId: "main", call, policy }, () => {}, new AbortController().signal);
  return { outcome, hasRun: existsSync(join(top, "canary")) };
}

describe("a git command that only reads runs no programs from the repository, even if a rule allows it", () => {
  it.each([
    ["git diff", "Bash(git diff:*)"],
    ["git diff", "Bash(git diff)"],
    ["git diff", "Bash(git:*)"],
    ["git diff", "Bash"],
    ["git diff --stat && git status", "Bash(git:*)"],
    ["git log -p", "Bash(git log:*)"],
    ["git status", "Bash(git *)"],
    ["git stash list; git show", "Bash(git:*)"],
    ["git grep two", "Bash(git grep:*)"],
    ["git blame a.ts", "Bash(git:*)"],
    ["git diff | head -3", "Bash(git diff:*)"],
    ["timeout 60 git diff", "Bash(git diff:*)"],
    ["git diff-files -p", "Bash(git:*)"],
  ])("%s under %s", async (command, rule) => {
    for (const scope of ["user", "session"] as const)
      expect(await run(command, [rule], { scope })).toEqual({ outcome: "ok", hasRun: false });
  });

  it.each([
    ["git diff && touch x", ["Bash(git diff:*)", "Bash(touch:*)"]],
    ["touch x; git status", ["Bash(git:*)", "Bash(touch:*)"]],
    ["git log -1 | awk '{print $1}'", ["Bash(git:*)", "Bash(awk:*)"]],
    ["/usr/bin/git diff", ["Bash(/usr/bin/git diff:*)"]],
    ["env -i git diff", ["Bash(git diff:*)"]],
  ] as const)("%s needs approval, because its git would run such programs", async (command, rules) => {
    expect(await run(command, rules)).toEqual({ outcome: "denied", hasRun: false });
  });
});

describe("in a directory that is not trusted", () => {
  const ask: Rule = { text: "Bash(git:*)", effect: "ask", scope: "builtin" };
  const layers: PolicyLayer[] = [{ rules: [ask] }];
  const onlyChanges: PolicyLayer[] = [{ rules: [ask], onlyChanges: true }];

  it.each(["Bash(git status)", "Bash(git:*)", "Bash"])("trust comes before the rule %s", async (rule) => {
    expect(await run("git status", [rule], { layers })).toEqual({ outcome: "denied", hasRun: false });
    expect(await run("git commit -m x", [rule], { layers: onlyChanges })).toEqual({ outcome: "denied", hasRun: false });
  });

  it("reading needs no approval if the configuration names programs only for changes", async () => {
    expect(await run("git log -3 && git status", [], { layers: onlyChanges })).toEqual({
      outcome: "ok",
      hasRun: false,
    });
    expect(await run("git diff", ["Bash(git:*)"], { layers: onlyChanges })).toEqual({ outcome: "ok", hasRun: false });
    const mixed = await run("git status && touch x", ["Bash(git:*)", "Bash(touch:*)"], { layers: onlyChanges });
    expect(mixed).toEqual({ outcome: "denied", hasRun: false });
  });
});
