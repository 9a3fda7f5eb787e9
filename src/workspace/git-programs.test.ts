import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findGitPrograms, programsWhenReading } from "./git-programs.ts";

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

const evil = '[filter "x"]\n\tclean = ./evil\n';

describe("reading with the system's git", () => {
  const clone =
    '[core]\n\trepositoryformatversion = 1\n[remote "origin"]\n\turl = https://example.com/a\n\tpromisor = true\n\tpartialclonefilter = blob:none\n[extensions]\n\tpartialclone = origin\n';

  it.each([
    `${clone}[core]\n\tsshCommand = ./x\n`,
    `${clone.replace("https://example.com/a", "ext::./x")}[protocol "ext"]\n\tallow = always\n`,
    `${clone}\tuploadpack = ./x\n`,
    "[gpg]\n\tprogram = ./x\n",
    '[gpg "ssh"]\n\tprogram = ./x\n',
    evil,
  ])("can start a program: %j", (config) => {
    const cwd = createRepository({ ".git/config": config });
    expect(programsWhenReading(cwd)).toBe(join(cwd, ".git/config"));
  });

  it.each([clone, "", "[core]\n\thooksPath = .husky/_\n", "[commit]\n\tgpgsign = true\n"])(
    "starts none: %j",
    (config) => {
      expect(programsWhenReading(createRepository({ ".git/config": config }))).toBeUndefined();
    },
  );
});

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
  ])("runs as usual if the repository's configuration names none: %j", (config) => {
    expect(findGitPrograms(createRepository({ ".git/config": config }))).toBeUndefined();
  });

  it.each([
    "[core]\n\thooksPath = .husky/_\n",
    "[core] HooksPath=x\n",
    "[core]\n\tsshCommand = ./x\n",
    "[core]\n\teditor = ./x\n",
    "[alias]\n\tx = !./x\n",
    '[alias]\n\tx = "!./x"\n',
    "[gpg]\n\tprogram = ./x\n",
    "[credential]\n\thelper = ./x\n",
    '[merge "x"]\n\tdriver = ./x\n',
    '[remote "origin"]\n\tuploadpack = ./x\n',
    '[hook "x"]\n\tcommand = ./x\n',
    '[trailer "x"]\n\tcmd = ./x\n',
    "[init]\n\ttemplateDir = x\n",
    "[core]\n\tworktree = ../..\n",
    "[core]\n\talternateRefsCommand = ./x\n",
    '[gpg "ssh"]\n\tdefaultKeyCommand = ./x\n',
    '[remote "origin"]\n\turl = ext::./x\n',
    '[remote "origin"]\n\turl = "ext::./x"\n',
    '[remote "origin"]\n\turl = ./sub\n',
    '[remote "origin"]\n\turl = ../sub:x\n',
    '[protocol "ext"]\n\tallow = always\n',
    '[url "ext::./x"]\n\tinsteadOf = https://\n',
    "[extensions]\n\tpartialClone = origin\n",
    '[user "]"] program = x\n',
    "# \\\n[commit]\n\ttemplate = ../x\n",
    "[core]\n\twhitespace = foo \\\n[color]\n\thooksPath = h\n",
    "[core]\r\n\twhitespace = foo \\\r\n[color]\r\n\thooksPath = h\r\n",
    '[user]\n\tname = "x\\\n[color]\n"\n',
    '[remote "o"]\n\turl = https://example.com/y \\\n[color]\n\turl = ./sub\n',
    '[color]\n[credential\r"https://x"]\n\thelper = !./x\n',
    '[color]\n[remote\r"origin"]\n\turl = ./sub\n\tuploadpack = ./x\n',
    '[color]\n[alias\v"x"]\n\tx = !./x\n',
    "[color]\n[core\n\thooksPath = h\n",
    "[color]\n\u00a0[core]\n\thooksPath = h\n",
  ])("needs approval only to change something if git runs the programs only then: %j", (config) => {
    const cwd = createRepository({ ".git/config": config });
    expect(findGitPrograms(cwd)).toEqual({ file: join(cwd, ".git/config"), checked: true, onlyChanges: true });
    expect(findGitPrograms(createRepository({ ".git/config": `${config}${evil}` }))?.onlyChanges).toBeUndefined();
  });

  it("needs approval to change something if there are hooks, except samples and files that can't be run", () => {
    for (const name of [".git", "store"]) {
      const files = { [`${name}/config`]: "", [`${name}/hooks/x.sample`]: "", [`${name}/hooks/README`]: "" };
      const cwd = createRepository(name === ".git" ? files : { ".git": "gitdir: store\n", ...files });
      chmodSync(join(cwd, name, "hooks/x.sample"), 0o755);
      expect(findGitPrograms(cwd)).toBeUndefined();
      const file = join(cwd, name, "hooks/pre-commit");
      writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 });
      expect(findGitPrograms(cwd)).toEqual({ file, checked: true, onlyChanges: true });
    }
  });

  it.each([
    ["remotes/origin", "URL: ./sub.git\n"],
    ["branches/origin", "./sub.git#main\n"],
    ["rebase-merge/git-rebase-todo", "pick 1\nexec ./x\n"],
    ["rebase-merge/git-rebase-todo", "\tx\t./x\n"],
  ])("needs approval to change something if %s can start programs", (name, text) => {
    const cwd = createRepository({ ".git/config": "", [`.git/${name}`]: text });
    expect(findGitPrograms(cwd)).toEqual({ file: join(cwd, ".git", name), checked: true, onlyChanges: true });
  });

  it("runs as usual during a rebase without commands", () => {
    const todo = "pick 1 exec y\n# exec x\nlabel x\nreset y\n";
    const cwd = createRepository({ ".git/config": "", ".git/rebase-merge/git-rebase-todo": todo });
    expect(findGitPrograms(cwd)).toBeUndefined();
  });

  it("needs approval wherever git would find a configuration that names programs", () => {
    const passed = createRepository({ ".git/config": evil, "sub/.git/description": "not a repository" });
    expect(findGitPrograms(join(passed, "sub"))).toBeDefined();
    for (const name of ["g\ny", "g ", " g"]) {
      const odd = createRepository({ ".git": `gitdir: ${name}\r\n`, [`${name}/config`]: evil });
      expect(findGitPrograms(odd)).toBeDefined();
    }
    const above = createRepository({ ".git/config": evil, "src/a/b.ts": "" });
    expect(findGitPrograms(join(above, "src/a"))).toBeDefined();
    const linked = createRepository({ ".git": "gitdir: store/worktrees/w\n", "store/config": evil });
    mkdirSync(join(linked, "store/worktrees/w"), { recursive: true });
    writeFileSync(join(linked, "store/worktrees/w/commondir"), "../..\n");
    expect(findGitPrograms(linked)).toBeDefined();
    expect(
      findGitPrograms(createRepository({ HEAD: "ref: refs/heads/main", config: evil, "objects/info/packs": "" })),
    ).toBeDefined();
    expect(findGitPrograms(createRepository({ ".git/config": "", ".git/config.worktree": evil }))).toBeDefined();
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
