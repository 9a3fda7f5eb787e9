import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolExecutor } from "../ports/index.ts";
import { type Policy, type Rule, textOf } from "../protocol/index.ts";
import { createWorkerTools } from "../tools/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { createExecutor } from "./index.ts";

let top = "";
let root = "";
let executor: ToolExecutor;

const person = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
const git = (...args: string[]) => execFileSync("git", ["-C", root, ...person, ...args], { stdio: "pipe" });

/** Creates a repository next to others whose hooks and settings start programs that leave a mark. */
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "git-elsewhere-")));
  root = join(top, "project");
  const evil = join(top, "evil.sh");
  writeFileSync(evil, `#!/bin/sh\ntouch ${join(top, "canary")}\n`, { mode: 0o755 });
  execFileSync("git", ["init", "-q", "-b", "main", root]);
  writeFileSync(join(root, "a.ts"), "one\n");
  git("add", "a.ts");
  git("commit", "-qm", "one");
  for (const bare of [join(root, "sub"), join(top, "other.git")]) {
    execFileSync("git", ["clone", "-q", "--bare", root, bare], { stdio: "pipe" });
    for (const name of ["pre-receive", "update", "post-receive", "post-update", "reference-transaction"])
      writeFileSync(join(bare, "hooks", name), `#!/bin/sh\ntouch ${join(top, "canary")}\n`, { mode: 0o755 });
    execFileSync("git", ["-C", bare, "update-ref", "-d", "refs/heads/main"]);
    execFileSync("git", ["-C", bare, "config", "core.alternateRefsCommand", evil]);
  }
  // Retinue looks at the hooks of other repositories only through these commands, so nothing has run yet.
  rmSync(join(top, "canary"), { force: true });
  const nested = join(root, "nested");
  execFileSync("git", ["clone", "-q", root, nested], { stdio: "pipe" });
  writeFileSync(join(nested, ".git/hooks/post-commit"), `#!/bin/sh\ntouch ${join(top, "canary")}\n`, { mode: 0o755 });
  for (const repository of [root, nested])
    for (const [key, value] of [
      ["user.name", "a"],
      ["user.email", "a@example.com"],
    ] as const)
      execFileSync("git", ["-C", repository, "config", key, value]);
  git("branch", "other");
  const workspace = createLocalWorkspace({ root, environment: process.env, home: top });
  const results = { save: async () => "", saveFile: async () => "retinue://result/r1" };
  const tools = createWorkerTools({ sessionId: basename(top), workspace, results, outputDirectory: join(top, "out") });
  executor = createExecutor({ tools, workspace, results, home: top });
});
afterEach(async () => {
  await executor.close();
  rmSync(top, { recursive: true, force: true });
});

async function run(command: string, ...allow: readonly string[]) {
  const rules = allow.map((text): Rule => ({ text, effect: "allow", scope: "user" }));
  const policy: Policy = {
    ...{ mode: "default", pool: ["Bash"], rules, workspaceRoots: [root], readableRoots: [] },
    unattended: true,
  };
  const call = { callId: "c1", name: "Bash", inputJson: JSON.stringify({ command }) };
  const ran = await executor.execute({ agentId: "main", call, policy }, () => {}, new AbortController().signal);
  return { outcome: ran.outcome, hasRun: existsSync(join(top, "canary")), text: textOf(ran.content) };
}

const denied = { outcome: "denied", hasRun: false };

describe("a remote that is a directory on this machine", () => {
  it.each([
    "git push ./sub main:main",
    "git push sub main:main",
    "git push -u sub main",
    "git push -- sub main",
    "git push {TOP}/other.git main",
    "git push file://{ROOT}/sub main",
    "git fetch ./sub",
    "git fetch -q sub",
    "git pull ./sub main",
    "git ls-remote sub",
    "git clone sub copy",
    "git clone ./sub copy",
    "git clone nested copy",
    "git remote show sub",
    "git submodule add ./sub module",
    "git push su? main",
    "for f in sub; do git push $f main; done",
    "timeout 60 git push ./sub main",
    "git -c x.y=z push sub main",
    "true && git push sub main",
  ])("needs approval under a wildcard: %s", async (line) => {
    const command = line.replaceAll("{ROOT}", root).replaceAll("{TOP}", top);
    for (const rule of ["Bash(git:*)", `Bash(${/git (?:-c x.y=z )?[a-z-]+/.exec(line)![0]}:*)`])
      expect(await run(command, rule)).toMatchObject(denied);
  });

  it.each<[string, readonly (readonly [string, string])[], string]>([
    ["its address", [["remote.origin.url", "./sub"]], "git push origin main"],
    ["a directory above", [["remote.origin.url", "../other.git"]], "git push origin main"],
    ["an absolute path", [["remote.origin.url", "{ROOT}/sub"]], "git fetch"],
    ["a file URL", [["remote.origin.url", "file://{ROOT}/sub"]], "git push origin main"],
    [
      "the address for pushing",
      [
        ["remote.origin.url", "https://example.com/a"],
        ["remote.origin.pushurl", "./sub"],
      ],
      "git push origin main",
    ],
    [
      "one of several addresses",
      [
        ["remote.origin.url", "https://example.invalid/a"],
        ["remote.origin.url", "./sub"],
      ],
      "git push origin main",
    ],
    [
      "a replaced address",
      [
        ["remote.origin.url", "https://example.com/sub"],
        ["url.{ROOT}/.insteadOf", "https://example.com/"],
      ],
      "git push origin main",
    ],
    [
      "a replaced address for pushing",
      [
        ["remote.origin.url", "https://example.com/sub"],
        ["url.{ROOT}/.pushInsteadOf", "https://example.com/"],
      ],
      "git push origin main",
    ],
    [
      "a replaced address in the command",
      [["url.{ROOT}/.insteadOf", "https://example.com/"]],
      "git push https://example.com/sub main",
    ],
    [
      "the remote of the branch",
      [
        ["branch.main.remote", "./sub"],
        ["branch.main.merge", "refs/heads/main"],
      ],
      "git push",
    ],
    ["the remote of the branch, for pushing", [["branch.main.pushRemote", "./sub"]], "git push"],
    ["the default for pushing", [["remote.pushDefault", "./sub"]], "git push"],
    [
      "the only remote",
      [
        ["remote.up.url", "./sub"],
        ["remote.up.fetch", "+refs/heads/*:refs/remotes/up/*"],
      ],
      "git fetch",
    ],
    [
      "all remotes",
      [
        ["remote.origin.url", "https://example.invalid/a"],
        ["remote.up.url", "./sub"],
      ],
      "git fetch --all",
    ],
    [
      "a group of remotes",
      [
        ["remote.up.url", "./sub"],
        ["remotes.group", "up"],
      ],
      "git fetch group",
    ],
    ["an included file", [["include.path", "../more"]], "git push origin main"],
    [
      "another transport",
      [
        ["remote.origin.url", "ext::./evil"],
        ["remote.origin.vcs", "ext"],
      ],
      "git push origin main",
    ],
  ])("needs approval if the configuration names it as %s", async (_, settings, command) => {
    writeFileSync(join(root, "more"), '[remote "origin"]\n\turl = ./sub\n');
    for (const [key, value] of settings) git("config", "--add", key, value.replaceAll("{ROOT}", root));
    git("config", "push.default", "current");
    for (const rule of ["Bash(git:*)", `Bash(${command.split(" ").slice(0, 2).join(" ")}:*)`])
      expect(await run(command, rule)).toMatchObject(denied);
  });

  it.each(["Bash(git push ./sub main)", "Bash(git push ./sub:*)", "Bash"])(
    "runs if the rule names it: %s",
    async (rule) => {
      expect(await run("git push ./sub main", rule)).toMatchObject({ outcome: "ok", hasRun: true });
    },
  );
});

describe("a remote on the network", () => {
  beforeEach(() => {
    git("config", "remote.origin.url", "https://127.0.0.1:1/a.git");
    git("config", "remote.up.url", "git@127.0.0.1:b.git");
    git("config", "url.ssh://git@127.0.0.1/.insteadOf", "gh:");
    git("config", "branch.main.remote", "origin");
    git("config", "branch.main.merge", "refs/heads/main");
    git("config", "branch.other.remote", ".");
  });

  it.each([
    "git push",
    "git push origin main",
    "git push -u up HEAD",
    "git fetch",
    "git fetch --all",
    "git pull origin main",
    "git ls-remote https://127.0.0.1:1/a.git",
    "git clone https://127.0.0.1:1/a.git copy",
  ])("needs no approval, although there may be other remotes: %s", async (command) => {
    for (const rule of ["Bash(git:*)", `Bash(${command.split(" ").slice(0, 2).join(" ")}:*)`])
      expect(await run(command, rule)).toMatchObject({ outcome: "error", text: expect.stringContaining("fatal") });
  });
});

describe("a repository other than the workspace's own", () => {
  it.each([
    "cd nested && git commit --allow-empty -m x",
    "(cd nested; git commit --allow-empty -m x)",
    "cd sub && git push . HEAD:x",
    "for d in nested; do cd $d && git commit --allow-empty -m x; done",
  ])("needs approval under a wildcard: %s", async (command) => {
    expect(await run(command, "Bash(git:*)", "Bash(cd:*)")).toMatchObject(denied);
  });

  it("differs from a directory of the workspace's repository", async () => {
    mkdirSync(join(root, "src"));
    expect(await run("cd src && git commit --allow-empty -m x", "Bash(git:*)")).toMatchObject({
      outcome: "ok",
      hasRun: false,
    });
  });

  it.each(["git checkout -f", "git stash", "git switch other", "git restore ."])(
    "needs approval to write outside the workspace, where core.worktree leads: %s",
    async (command) => {
      mkdirSync(join(top, "outside"));
      git("config", "core.worktree", join(top, "outside"));
      expect(await run(command, "Bash(git:*)")).toMatchObject(denied);
      expect(await run(command, `Bash(${command.split(" ").slice(0, 2).join(" ")}:*)`)).toMatchObject(denied);
      expect(existsSync(join(top, "outside/a.ts"))).toBe(false);
    },
  );
});

describe("files in .git that git reads besides its configuration", () => {
  it.each([
    ["remotes/origin", "URL: ./sub\nPush: refs/heads/main\n", "git push"],
    ["remotes/origin", "URL: ./sub\nPush: refs/heads/main\n", "git push -q"],
    ["remotes/origin", "URL: ./sub\n", "git push --all"],
    ["remotes/origin", "URL: ./sub\n", "git fetch"],
    ["branches/origin", "./sub#main\n", "git push origin main"],
    ["branches/up", "./sub#main\n", "git pull up"],
    ["remotes/host:x", "URL: ./sub\n", "git push host:x main"],
  ])("name no remotes for a wildcard: %s, %j, %s", async (name, text, command) => {
    mkdirSync(join(root, ".git", name, ".."), { recursive: true });
    writeFileSync(join(root, ".git", name), text);
    for (const rule of ["Bash(git:*)", `Bash(${command.split(" ").slice(0, 2).join(" ")}:*)`])
      expect(await run(command, rule)).toMatchObject(denied);
  });

  it.each(["git rebase --continue", "git rebase --skip", "git rebase --edit-todo"])(
    "name no commands for a wildcard: %s",
    async (command) => {
      const steps = ["-x", "exit 1", "-x", `touch ${join(top, "canary")}`];
      expect(() => git("-c", "sequence.editor=true", "rebase", "-i", "--root", ...steps)).toThrow("exit 1");
      for (const rule of ["Bash(git:*)", "Bash(git rebase:*)"]) expect(await run(command, rule)).toMatchObject(denied);
    },
  );
});

describe("a submodule whose own settings start programs", () => {
  it.each(["", '[submodule "nested"]\n\tpath = nested\n\turl = ./x\n\tfetchRecurseSubmodules = true\n'])(
    "is not fetched under a wildcard: %j",
    async (modules) => {
      git("add", "nested");
      git("commit", "-qm", "module");
      if (modules !== "") writeFileSync(join(root, ".gitmodules"), modules);
      const nested = join(root, "nested");
      for (const [key, value] of [
        ["remote.origin.url", join(top, "other.git")],
        ["remote.origin.uploadpack", join(top, "evil.sh")],
      ] as const)
        execFileSync("git", ["-C", nested, "config", key, value]);
      for (const command of ["git fetch .", "git pull . main"])
        for (const rule of ["Bash(git:*)", `Bash(${command.split(" ").slice(0, 2).join(" ")}:*)`])
          expect((await run(command, rule)).hasRun).toBe(false);
    },
  );
});
