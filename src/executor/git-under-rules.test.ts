import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolExecutor } from "../ports/index.ts";
import { type Policy, type PolicyLayer, type Rule, type RuleScope, textOf } from "../protocol/index.ts";
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
  // npm sets EDITOR.
  const environment = { ...process.env, EDITOR: undefined };
  const workspace = createLocalWorkspace({ root, environment, home: top });
  const results = { save: async () => "", saveFile: async () => "retinue://result/r1" };
  const tools = createWorkerTools({ sessionId: basename(top), workspace, results, outputDirectory: join(top, "out") });
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
  const request = { agentId: "main", call, policy };
  const { outcome, content } = await executor.execute(request, () => {}, new AbortController().signal);
  const ran = { outcome, hasRun: existsSync(join(top, "canary")) };
  return outcome === "error" ? { ...ran, text: textOf(content) } : ran;
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

describe("an editor that the configuration names does not run", () => {
  beforeEach(() => {
    git("config", "--unset", "core.hooksPath");
    git("config", "user.name", "a");
    git("config", "user.email", "a@example.com");
    for (const key of ["core.editor", "sequence.editor"]) git("config", key, join(top, "evil.sh"));
    for (const key of ["filter.evil.clean", "filter.evil.smudge"]) git("config", "--unset", key);
    git("commit", "-qam", "two");
    git("branch", "other", "HEAD~1");
    rmSync(join(top, "canary"), { force: true });
  });

  it.each([
    "git commit --allow-empty",
    "git commit --allow-empty --fixup=amend:HEAD",
    "git commit --allow-empty --fixup=reword:HEAD",
    "git commit --allow-empty --squash HEAD",
    "git commit -v --allow-empty",
    "git tag -a v1",
    "git revert HEAD",
    "git revert -n HEAD && git revert --continue",
    "git merge --no-ff other",
    "git notes add",
    "git rebase -r other",
    "git pull --rebase=interactive . other",
    "git add -A; git commit",
  ])("in %s", async (command) => {
    expect((await run(command, ["Bash(git:*)", "Bash(git add -A)"])).hasRun).toBe(false);
  });

  it("but one that an approved command names does", async () => {
    for (const name of ["GIT_EDITOR", "VISUAL", "EDITOR"]) {
      const command = `${name}='${join(top, "evil.sh")} "x y"' git commit --allow-empty`;
      expect((await run(command, [`Bash(${command})`])).hasRun).toBe(true);
      rmSync(join(top, "canary"));
    }
    const interactive = "git rebase -i HEAD~1";
    expect(await run(interactive, [`Bash(${interactive})`])).toEqual({ outcome: "ok", hasRun: false });
    const sequence = `GIT_SEQUENCE_EDITOR=${join(top, "evil.sh")} ${interactive}`;
    expect((await run(sequence, [`Bash(${sequence})`])).hasRun).toBe(true);
  });
});
