import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Policy } from "../../protocol/index.ts";
import { askAboutGit } from "./session-permissions.ts";

const policy: Policy = { mode: "default", pool: ["Bash"], rules: [], workspaceRoots: [], readableRoots: [] };

function createRepository(files: Readonly<Record<string, string>>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-git-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const asks = (cwd: string | undefined, mode: Policy["mode"] = "default"): boolean =>
  askAboutGit({ ...policy, mode }, cwd).policy.layers?.[0]?.rules[0]?.effect === "ask";

function createHuge(path: string): void {
  writeFileSync(path, "");
  truncateSync(path, 2 ** 33);
}

const evil = '[filter "x"]\n\tclean = ./evil\n';

describe("git in an untrusted directory", () => {
  it.each([
    [evil],
    ['[filter "x"] smudge = ./evil'],
    ["\ufeff[FILTER.x]\nProcess = evil"],
    ['[core]\n  bare = false\n[diff "word"]\r\n\ttextconv = ./evil\r\n'],
    ["[diff]\nexternal = ./evil"],
    ['[diff "x"]\ncommand=evil'],
    ["[include]\npath = ../more"],
    ['[includeIf "gitdir:/"]\npath = more'],
    ['[filter "lfs"]\nclean = git-lfs clean -- %f\n[lfs "customtransfer.x"]\npath = evil'],
    ['[filter "lfs"]\nclean = git-lfs clean -- %f; evil'],
  ])("needs approval if its configuration names programs: %j", (config) => {
    const cwd = createRepository({ ".git/config": config });
    expect(asks(cwd)).toBe(true);
    expect(askAboutGit(policy, cwd).notices[0]).toContain(join(cwd, ".git/config"));
  });

  it.each([
    ['[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.com/filter\n[branch "diff"]\n'],
    ["[diff]\n\talgorithm = histogram\n"],
    [
      '[filter "lfs"]\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n\tclean = git-lfs clean -- %f\n',
    ],
    [""],
  ])("works as usual if its configuration names no programs: %j", (config) => {
    expect(askAboutGit(policy, createRepository({ ".git/config": config }))).toEqual({ policy, notices: [] });
  });

  it("needs approval wherever git would find that configuration", () => {
    const above = createRepository({ ".git/config": evil, "src/a/b.ts": "" });
    expect(asks(join(above, "src/a"))).toBe(true);
    const linked = createRepository({ ".git": "gitdir: store/worktrees/w\n", "store/config": evil });
    mkdirSync(join(linked, "store/worktrees/w"), { recursive: true });
    writeFileSync(join(linked, "store/worktrees/w/commondir"), "../..\n");
    expect(asks(linked)).toBe(true);
    expect(asks(createRepository({ HEAD: "ref: refs/heads/main", config: evil, "objects/info/packs": "" }))).toBe(true);
    expect(asks(createRepository({ ".git/config": "", ".git/config.worktree": evil }))).toBe(true);
  });

  it.each([
    [".git/config", (path: string) => execFileSync("mkfifo", [path])],
    [".git/config", (path: string) => symlinkSync("/dev/zero", path)],
    [".git/config", createHuge],
    [".git/commondir", (path: string) => execFileSync("mkfifo", [path])],
  ])("needs approval if a file could block the program that reads it: %s %s", (name, create) => {
    const cwd = createRepository({ ".git/HEAD": "ref: refs/heads/main" });
    create(join(cwd, name));
    expect(asks(cwd)).toBe(true);
    expect(askAboutGit(policy, cwd).notices[0]).toContain(`${join(cwd, name)} can't be checked`);
  });

  it.each([createHuge, (path: string) => symlinkSync(".git", path)])(
    "is allowed if git rejects `.git` itself: %s",
    (create) => {
      const cwd = createRepository({});
      create(join(cwd, ".git"));
      expect(asks(cwd)).toBe(false);
    },
  );

  it("is allowed if the directory is trusted, or if nothing needs approval", () => {
    expect(asks(undefined)).toBe(false);
    expect(asks(createRepository({ ".git/config": evil }), "bypassPermissions")).toBe(false);
    expect(asks(createRepository({ "config.txt": evil }))).toBe(false);
  });
});
