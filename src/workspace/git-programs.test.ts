import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findGitPrograms } from "./git-programs.ts";

function createRepository(files: Readonly<Record<string, string>>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-git-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

function createHuge(path: string): void {
  writeFileSync(path, "");
  truncateSync(path, 2 ** 33);
}

/** Returns whether all git commands need approval. */
function stopsReading(directory: string): boolean {
  const found = findGitPrograms(directory);
  return found !== undefined && !found.onlyChanges;
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
  ])("needs approval if the repository's configuration names programs: %j", (config) => {
    const cwd = createRepository({ ".git/config": config });
    expect(findGitPrograms(cwd)).toEqual({ file: join(cwd, ".git/config"), checked: true });
  });

  it.each([
    ['[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.com/filter\n[branch "diff"]\n'],
    ["[diff]\n\talgorithm = histogram\n"],
    [
      '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n[remote "up stream"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/up/*\n[branch "a\\"]b"] remote = origin ; main\n# text\n[user]\n\tname = A\n',
    ],
    ['[http "https://github.com/"]\r\n\textraheader = AUTHORIZATION: basic x\r\n[COLOR]\r\n\tui\r\n'],
    [
      '[filter "lfs"]\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n\tclean = git-lfs clean -- %f\n',
    ],
    [""],
  ])("needs approval only to change something if the configuration names none: %j", (config) => {
    const cwd = createRepository({ ".git/config": config });
    expect(findGitPrograms(cwd)).toEqual({ file: join(cwd, ".git/config"), checked: true, onlyChanges: true });
  });

  it("needs approval wherever git would find a configuration that names programs", () => {
    const passed = createRepository({ ".git/config": evil, "sub/.git/description": "not a repository" });
    expect(stopsReading(join(passed, "sub"))).toBe(true);
    for (const name of ["g\ny", "g ", " g"]) {
      const odd = createRepository({ ".git": `gitdir: ${name}\r\n`, [`${name}/config`]: evil });
      expect(stopsReading(odd)).toBe(true);
    }
    const above = createRepository({ ".git/config": evil, "src/a/b.ts": "" });
    expect(stopsReading(join(above, "src/a"))).toBe(true);
    const linked = createRepository({ ".git": "gitdir: store/worktrees/w\n", "store/config": evil });
    mkdirSync(join(linked, "store/worktrees/w"), { recursive: true });
    writeFileSync(join(linked, "store/worktrees/w/commondir"), "../..\n");
    expect(stopsReading(linked)).toBe(true);
    expect(
      findGitPrograms(createRepository({ HEAD: "ref: refs/heads/main", config: evil, "objects/info/packs": "" }))
        ?.onlyChanges,
    ).toBeUndefined();
    expect(stopsReading(createRepository({ ".git/config": "", ".git/config.worktree": evil }))).toBe(true);
  });

  it.each([
    [".git/config", (path: string) => execFileSync("mkfifo", [path])],
    [".git/config", (path: string) => symlinkSync("/dev/zero", path)],
    [".git/config", createHuge],
    [".git/commondir", (path: string) => execFileSync("mkfifo", [path])],
  ])("needs approval if reading the repository's configuration could block: %s %s", (name, create) => {
    const cwd = createRepository({ ".git/HEAD": "ref: refs/heads/main" });
    create(join(cwd, name));
    expect(findGitPrograms(cwd)).toEqual({ file: join(cwd, name), checked: false });
  });

  it.each([createHuge, (path: string) => symlinkSync(".git", path)])(
    "runs as usual if git itself refuses `.git`: %s",
    (create) => {
      const cwd = createRepository({});
      create(join(cwd, ".git"));
      expect(findGitPrograms(cwd)).toBeUndefined();
    },
  );

  it("runs as usual outside a repository", () => {
    expect(findGitPrograms(createRepository({ "config.txt": evil }))).toBeUndefined();
  });
});
