import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Policy, Rule } from "../protocol/index.ts";
import { createWorkerTools } from "../tools/index.ts";
import { createLocalWorkspace, createSandbox, type Sandbox } from "../workspace/index.ts";
import { needsSandbox } from "../workspace/sandbox/sandbox.test-support.ts";
import { createExecutor } from "./index.ts";

let top = "";
let root = "";
let sandbox: Sandbox | undefined;

const git = (...args: string[]) => execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: "pipe" });
const at = (name: string): string => join(root, name);
function put(name: string, text: string): void {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
}

/** Files that commands can write in a sandbox too. */
const files = ["package.json", "AGENTS.md", ".zed/tasks.json", ".github/workflows/ci.yml", "src/a.ts"];
const seen = files.slice(0, -1).toSorted();

/** Creates a repository in which the branch `other` changes protected files. */
beforeEach(() => {
  // The files must not be in /tmp, because commands in the sandbox see a different /tmp.
  top = realpathSync(mkdtempSync("/var/tmp/trespasses-"));
  root = join(top, "project");
  execFileSync("git", ["init", "-q", "-b", "main", root]);
  git("config", "user.name", "a");
  git("config", "user.email", "a@example.com");
  for (const name of files) put(name, `${name}\n`);
  put("notes.txt", "one\n");
  git("add", ".");
  git("commit", "-qm", "one");
  git("switch", "-qc", "other");
  for (const name of files) put(name, `changed ${name}\n`);
  git("commit", "-qam", "two");
  put("../change.patch", git("diff", "main", "other"));
  put("../change.mbox", git("format-patch", "--stdout", "main"));
  git("switch", "-q", "main");
  git("tag", "before");
});
afterEach(async () => {
  await sandbox?.close();
  sandbox = undefined;
  rmSync(top, { recursive: true, force: true });
});

/** Runs a command under rules, and returns the protected files whose changes are reported. */
async function run(command: string, ...allow: readonly string[]) {
  const workspace = createLocalWorkspace({ root, environment: process.env, home: top, sandbox });
  const results = { save: async (id: string) => id, saveFile: async () => "retinue://result/r1" };
  const tools = createWorkerTools({ sessionId: basename(top), workspace, results, outputDirectory: join(top, "out") });
  const executor = createExecutor({ tools, workspace, results, home: top });
  const rules = allow.map((text): Rule => ({ text, effect: "allow", scope: "user" }));
  const policy: Policy = {
    ...{ mode: "default", pool: ["Bash"], rules, workspaceRoots: [root], readableRoots: [] },
    unattended: true,
  };
  const call = { callId: "c1", name: "Bash", inputJson: JSON.stringify({ command }) };
  const { outcome, facts } = await executor.execute(
    { agentId: "main", call, policy },
    () => {},
    new AbortController().signal,
  );
  await executor.close();
  return { outcome, reported: (facts?.trespasses ?? []).map(({ path }) => relative(root, path)).toSorted() };
}

function createTestSandbox(): Sandbox {
  return createSandbox({
    ...{ mode: "require", scratch: join(top, "scratch"), userHome: top, writable: [], hidden: [], shown: [] },
    ...{ domains: [], tell: () => undefined },
  });
}

for (const isSandboxed of [false, true]) {
  describe(
    `a git command that writes protected files ${isSandboxed ? "in" : "without"} a sandbox`,
    isSandboxed ? needsSandbox : {},
    () => {
      beforeEach(() => {
        if (isSandboxed) sandbox = createTestSandbox();
      });

      it.each([
        "git checkout other",
        "git checkout other -- .",
        "git checkout -q other . && git reset -q",
        "git restore -s other .",
        "git restore --source=other -- package.json AGENTS.md .zed .github src",
        "git switch other",
        "git merge other",
        "git merge --no-ff --no-edit other",
        "git merge --squash other",
        "git cherry-pick other",
        "git cherry-pick -n other",
        "git rebase other",
        "git switch -c x other",
        "git apply change.patch",
        "git apply --index change.patch",
        "git am change.mbox",
        "git am -3 change.mbox",
        "git pull . other",
        "git stash pop",
        "git stash apply",
        "git revert --no-edit HEAD",
        "git mv src/a.ts src/b.ts && git checkout other -- .",
        "patch -p1 -i change.patch",
        "patch -p1 < change.patch",
      ])("is asked about or reported: %s", async (command) => {
        for (const name of ["change.patch", "change.mbox"]) put(name, readFileSync(join(top, name), "utf8"));
        if (command.includes("stash")) {
          git("checkout", "-q", "other", ".");
          git("stash", "-q");
        }
        if (command.includes("revert")) git("reset", "-q", "--hard", "other");
        const { outcome, reported } = await run(command, "Bash(git:*)", "Bash(patch:*)");
        if (outcome === "denied") expect(git("status", "--porcelain", "-uno")).toBe("");
        else expect({ outcome, reported }).toEqual({ outcome: "ok", reported: seen });
      });

      it.each([
        ["git read-tree -mu other", "Bash(git read-tree -mu other)"],
        ["git reset --hard other", "Bash(git reset --hard:*)"],
        ["git checkout-index -af --prefix=./", "Bash(git checkout-index -af --prefix=./)"],
        ["git stash -u", "Bash(git stash -u)"],
      ])("is reported if a rule spells it out: %s", async (command, rule) => {
        if (/index|stash/.test(command)) for (const name of files) put(name, "x\n");
        const { outcome, reported } = await run(command, rule);
        expect(outcome).toBe("ok");
        expect(reported).toContain("package.json");
      });

      it.each([
        "git stash -u",
        "git stash push -a",
        "git read-tree -mu other",
        "git remote add x https://example.com/a",
      ])("needs approval under a wildcard: %s", async (command) => {
        put("new.txt", "x\n");
        expect(await run(command, "Bash(git:*)")).toMatchObject({ outcome: "denied" });
      });

      it("is not reported if a rule names the files", async () => {
        const rules = ["Edit(package.json)", "Edit(AGENTS.md)", "Edit(.zed/**)"];
        expect(await run("git checkout other -- src .github AGENTS.md .", "Bash(git checkout:*)", ...rules)).toEqual({
          outcome: "ok",
          reported: [".github/workflows/ci.yml"],
        });
      });

      it("reports new files, except those that the sandbox moves away", async () => {
        const made =
          "mkdir -p .claude .vscode && echo x > .claude/settings.json && echo x > .vscode/tasks.json && echo x > .envrc";
        put("make.sh", made);
        const { reported } = await run("sh make.sh", "Bash(sh make.sh)");
        const expected = [".claude/settings.json", ".envrc", ".vscode/tasks.json"] as const;
        expect(reported).toEqual(isSandboxed ? expected.slice(1) : expected);
        expect(existsSync(at(".claude"))).toBe(!isSandboxed);
      });
    },
  );
}
