import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocalWorkspace } from "./local-workspace.ts";

let top: string;
let root: string;
let canaries: string;
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "harmless-git-")));
  root = join(top, "project");
  canaries = join(top, "canaries");
  mkdirSync(root);
  mkdirSync(canaries);
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

function git(directory: string, ...args: string[]): string {
  const who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
  return execFileSync("git", ["-C", directory, ...who, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
}

/** A shell command that leaves a file behind when it runs. */
function canary(name: string, rest = "cat"): string {
  return `touch ${canaries}/${name}; ${rest}`;
}

/** Runs a command read-only, or with the permissions of a command that a rule allows. */
async function run(
  command: string,
  profile: "reads" | "allowed" = "reads",
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const workspace = createLocalWorkspace({ root, environment: { ...process.env, ...variables } });
  let output = "";
  const running = workspace.spawn({
    command: "bash",
    args: ["--norc", "--noprofile", "-c", command],
    tag: `harmless-git-${process.pid}`,
    readsOnly: profile === "reads" ? { visible: [], hidden: [] } : undefined,
    onOutput: (chunk) => {
      output += Buffer.from(chunk).toString();
    },
  });
  await running.exited;
  await running.end();
  return output;
}

/** Creates a repository whose configuration names a program wherever git would run one. */
function createTrap(): void {
  git(root, "init", "-q");
  writeFileSync(
    join(root, ".gitattributes"),
    "*.command diff=command\n*.text diff=text\n*.clean filter=clean\n*.process filter=process\n",
  );
  const files = ["plain", "a.command", "a.text", "a.clean", "a.process"];
  for (const name of files) writeFileSync(join(root, name), "one\n");
  const signer = join(top, "signer");
  const signature = "-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n";
  writeFileSync(
    signer,
    `#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '${signature}'\n`,
    {
      mode: 0o700,
    },
  );
  git(root, "add", ".");
  git(root, "-c", `gpg.program=${signer}`, "commit", "-q", "-S", "-m", "one");
  git(root, "-c", `gpg.program=${signer}`, "tag", "-s", "v1", "-m", "one");
  for (const name of files) writeFileSync(join(root, name), "two\n");
  git(root, "stash", "-q");
  for (const name of files) writeFileSync(join(root, name), "three\n");
  const other = join(top, "other");
  execFileSync("git", ["clone", "-q", "--bare", root, other], { stdio: "ignore" });
  writeFileSync(join(root, ".git/objects/info/alternates"), `${other}/objects\n`);
  const verifier = join(top, "verifier");
  writeFileSync(verifier, `#!/bin/sh\ntouch ${canaries}/gpg\n`, { mode: 0o700 });
  mkdirSync(join(root, ".git/hooks"), { recursive: true });
  writeFileSync(join(root, ".git/hooks/post-index-change"), `#!/bin/sh\ntouch ${canaries}/hook\n`, { mode: 0o700 });
  const settings: Record<string, string> = {
    "core.fsmonitor": canary("fsmonitor", "false"),
    "core.sshCommand": canary("ssh"),
    "core.alternateRefsCommand": canary("alternates", ":"),
    "diff.external": canary("external", ":"),
    "diff.command.command": canary("driver", ":"),
    "diff.text.textconv": canary("textconv", "cat"),
    "filter.clean.clean": canary("clean"),
    "filter.process.process": canary("process", "exit 1;"),
    "gpg.program": verifier,
    "alias.st": `!${canary("alias", ":")}`,
    "tar.own.command": canary("archive"),
    "trailer.who.command": canary("trailer", ":"),
    "trailer.who.ifmissing": "add",
    "credential.helper": `!${canary("credential", ":")}`,
    "credential.https://localhost.helper": `!${canary("credential", ":")}`,
    "protocol.ext.allow": "always",
    "remote.origin.url": `ext::sh -c touch% ${canaries}/lazy-fetch`,
    "remote.origin.promisor": "true",
    "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
    "remote.here.url": other,
    "remote.here.uploadpack": canary("uploadpack", "git-upload-pack"),
    "remote.far.url": "ssh://localhost/x",
    "extensions.partialClone": "origin",
    "core.repositoryFormatVersion": "1",
  };
  for (const [key, value] of Object.entries(settings)) git(root, "config", key, value);
}

const reading = [
  ...[
    "git status",
    "git diff",
    "git diff HEAD",
    "git diff --stat",
    "git log -p",
    "git log --show-signature",
    "git show",
  ],
  ...[
    "git log --format=%G?",
    "git blame plain",
    "git grep one",
    "git ls-files -m",
    "git stash list -p",
    "git stash show -p",
  ],
  ...[
    "git branch -vv",
    "git tag -v v1",
    "git tag -l",
    "git describe --all --dirty",
    "git diff --ext-diff",
    "git show --ext-diff",
  ],
  ...["git rev-list --alternate-refs --all", "git st", "git archive --format=own HEAD", "git shortlog", "git reflog"],
  ...[
    "echo x | git interpret-trailers",
    "git cat-file -p 1234567890123456789012345678901234567890",
    "git remote show here",
  ],
  ...[
    "git ls-remote here",
    "git ls-remote far",
    "git ls-remote https://localhost:1/x",
    "git cat-file --textconv HEAD:a.text",
  ],
  ...[
    "git hash-object a.clean",
    "git check-attr -a plain",
    "echo plain | xargs git diff --",
    "find . -name plain -exec git diff {} +",
  ],
  ...[
    `git credential fill <<< $'protocol=https\\nhost=localhost\\n'`,
    "git -C . diff",
    "git --no-pager diff",
    "git diff --textconv",
  ],
];

describe("git in a read-only command", () => {
  it("runs no program that the repository configures, unlike in a command that a rule allows", async () => {
    createTrap();
    const script = reading.map((command) => `{ ${command}; } </dev/null`).join("; ");
    const output = await run(script);
    expect(readdirSync(canaries)).toEqual([]);
    expect(output).toContain("+three");
    expect(output).toContain("-one");
    await run(`unset GIT_CONFIG_COUNT; export GIT_OPTIONAL_LOCKS=1; ${script}`, "allowed");
    expect(readdirSync(canaries)).toEqual(
      [
        ...["alias", "alternates", "archive", "clean", "credential", "driver", "external", "fsmonitor", "gpg", "hook"],
        ...["lazy-fetch", "process", "ssh", "textconv", "trailer", "uploadpack"],
      ].sort(),
    );
  });

  it("shows a plain diff if the repository configures another diff program", async () => {
    git(root, "init", "-q");
    writeFileSync(join(root, "a b"), "one\n");
    git(root, "add", ".");
    writeFileSync(join(root, "a b"), "two\n");
    git(root, "config", "diff.external", canary("external", ":"));
    expect(await run("git diff")).toBe("diff --git a/a b b/a b\n--- a/a b\n+++ b/a b\n@@ -1 +1 @@\n-one\n+two\n");
  });

  it("uses the settings of the repository that git finds, even in included files", async () => {
    const inner = join(root, "in ner");
    mkdirSync(inner);
    for (const directory of [root, inner]) {
      git(directory, "init", "-q");
      writeFileSync(join(directory, ".gitattributes"), "* filter=x.y\n");
      writeFileSync(join(directory, "f"), "one\n");
      git(directory, "add", "f");
      writeFileSync(join(directory, "f"), "two\n");
      writeFileSync(
        join(directory, "more"),
        `[filter "x.y"]\n  clean = ${JSON.stringify(canary("clean"))}\n  required\n`,
      );
      git(directory, "config", "include.path", "../more");
    }
    for (const command of [
      "git diff",
      "cd 'in ner' && git diff",
      "git -C 'in ner' diff",
      "git --git-dir 'in ner/.git' --work-tree 'in ner' diff",
    ])
      expect(await run(command)).toContain("+two");
    expect(readdirSync(canaries)).toEqual([]);
    await run("git -C 'in ner' diff", "allowed");
    expect(readdirSync(canaries)).toEqual(["clean"]);
  });

  it("runs no program whose name is invalid text in the user's locale", async () => {
    git(root, "init", "-q");
    writeFileSync(join(root, "f"), "one\n");
    git(root, "add", "f");
    git(root, "commit", "-qm", "one");
    // This byte never occurs in UTF-8.
    const bytes = (text: string): Buffer => Buffer.from(text, "latin1");
    const program = (key: string): string => `${key} = ${JSON.stringify(canary(key))}\n`;
    writeFileSync(join(root, ".gitattributes"), bytes("* filter=a\xff diff=b\xff\n"));
    appendFileSync(join(root, ".git/config"), bytes(`[filter "a\xff"]\n${program("clean")}${program("smudge")}`));
    appendFileSync(join(root, ".git/config"), bytes(`[diff "b\xff"]\n${program("textconv")}`));
    writeFileSync(join(root, "f"), "two\n");
    const script = "exec 2>&1; git status; git diff; git log -p; git blame f; echo $LC_ALL";
    for (const LC_ALL of ["C.UTF-8", "C"])
      expect(await run(script, "reads", { LC_ALL })).toMatch(new RegExp(`\\+two\n[^]*${LC_ALL}\n$`));
    expect(readdirSync(canaries)).toEqual([]);
    await run(script, "allowed");
    expect(readdirSync(canaries)).toEqual(["clean", "smudge", "textconv"]);
  });

  it("does not mistake a directory in the working tree for a repository, or another directory for the working tree", async () => {
    git(root, "init", "-q");
    git(root, "init", "-q", "--bare", "tests/bare");
    const outside = join(top, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "notes"), "SECRET");
    git(join(root, "tests/bare"), "config", "core.bare", "false");
    git(join(root, "tests/bare"), "config", "core.worktree", outside);
    expect(await run("cd tests/bare && git ls-files -o && git status")).not.toContain("notes");
    git(root, "config", "core.worktree", outside);
    expect(await run("git ls-files -o; git status")).toMatch(/^git: core\.worktree leads to .*outside, which is not/);
    expect(await run("git status", "allowed")).toContain("notes");
  });

  it("reads no file that the repository's configuration names", async () => {
    const secret = join(top, "secret");
    writeFileSync(secret, "SECRET\n* SECRET\nSECRET <a@b.c>\n");
    git(root, "init", "-q");
    writeFileSync(join(root, "f"), "one\n");
    git(root, "add", "f");
    git(root, "commit", "-qm", "one");
    const settings = [
      "blame.ignoreRevsFile",
      "core.attributesFile",
      "core.excludesFile",
      "mailmap.file",
      "diff.orderFile",
    ];
    for (const name of settings) git(root, "config", name, secret);
    utimesSync(secret, new Date(0), new Date());
    for (const command of [
      "blame f",
      "status",
      "log --stat",
      "check-ignore -v f",
      "check-attr -a f",
      "shortlog -s HEAD",
    ])
      expect(await run(`git ${command}`)).not.toContain("SECRET");
    expect(statSync(secret).atimeMs).toBe(0);
    git(root, "config", "blame.ignoreRevsFile", ".git-blame-ignore-revs");
    writeFileSync(join(root, ".git-blame-ignore-revs"), "");
    expect(await run("git blame f")).toContain("one");
    rmSync(join(root, ".git-blame-ignore-revs"));
    symlinkSync(secret, join(root, ".git-blame-ignore-revs"));
    expect(await run("git blame f")).not.toContain("SECRET");
  });

  describe("with another repository", () => {
    const refused = /^git: The repository is elsewhere, in .*\n$/;

    beforeEach(() => {
      git(top, "init", "-q", "private");
      git(join(top, "private"), "commit", "-q", "--allow-empty", "-m", "SECRET");
    });

    it.each([
      ["a file", () => writeFileSync(join(root, ".git"), `gitdir: ${top}/private/.git\n`)],
      ["a relative name in a file", () => writeFileSync(join(root, ".git"), "gitdir: ../private/.git\n")],
      ["a symlink", () => symlinkSync(join(top, "private/.git"), join(root, ".git"))],
      [
        "another file",
        () => {
          git(root, "init", "-q");
          rmSync(join(root, ".git/refs"), { recursive: true });
          writeFileSync(join(root, ".git/commondir"), `${top}/private/.git\n`);
        },
      ],
      [
        "a forged worktree",
        () => {
          const own = join(root, "fake/worktrees/w");
          mkdirSync(own, { recursive: true });
          writeFileSync(join(root, ".git"), `gitdir: ${own}\n`);
          writeFileSync(join(own, "gitdir"), `${root}/.git\n`);
          writeFileSync(join(own, "commondir"), `${top}/private/.git\n`);
          writeFileSync(join(own, "HEAD"), "ref: refs/heads/main\n");
        },
      ],
      [
        "a file above an incomplete repository",
        () => {
          writeFileSync(join(root, ".git"), `gitdir: ${top}/private/.git\n`);
          mkdirSync(join(root, "sub/.git"), { recursive: true });
        },
      ],
    ])("shows nothing if %s points to that repository", async (_, lead) => {
      lead();
      expect(await run("git log -1 --format=%s")).toMatch(refused);
      mkdirSync(join(root, "sub"), { recursive: true });
      expect(await run("cd sub && git log -1 --format=%s")).toMatch(refused);
    });

    it("works if that repository refers back to the working tree, as for a worktree or submodule", async () => {
      for (const relative of ["false", "true"]) {
        rmSync(root, { recursive: true });
        git(join(top, "private"), "-c", `worktree.useRelativePaths=${relative}`, "worktree", "add", "-qf", root);
        expect(await run("git log -1 --format=%s")).toBe("SECRET\n");
        git(join(top, "private"), "worktree", "remove", "--force", root);
        mkdirSync(root);
      }
      git(root, "init", "-q");
      git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", join(top, "private"), "part");
      expect(await run("cd part && git log -1 --format=%s")).toBe("SECRET\n");
    });
  });

  it("behaves as usual in an ordinary repository", async () => {
    git(root, "init", "-q");
    git(root, "commit", "-q", "--allow-empty", "-m", "one");
    expect(await run("git log --format=%s; git --version | cut -d. -f1; git; git nothing")).toMatch(
      /^one\ngit version 2\nusage: git/,
    );
    expect(await run("cd / && git status")).toContain("not a git repository");
    expect(
      await run("git log --format=%s; echo $?; git diff --quiet --no-index /dev/null .gitignore; echo $?"),
    ).toMatch(/^one\n0\n/);
    expect(await run("PATH=/nowhere:$PATH git log --format=%s")).toBe("one\n");
  });
});

describe("the directory of Retinue's own git", () => {
  it("is removed by another process if its own process was killed", async () => {
    const ended = spawnSync("true").pid;
    const left = join(tmpdir(), `retinue-git-${ended}-left`);
    const used = join(tmpdir(), `retinue-git-${process.pid}-used`);
    for (const directory of [left, used]) mkdirSync(directory, { mode: 0o700 });
    writeFileSync(join(left, "git"), "");
    const own = (await run("dirname $(command -v git)")).trim();
    expect(own).toContain(`retinue-git-${process.pid}-`);
    rmSync(own, { recursive: true, force: true });
    await run("git --version");
    expect([left, used].map((directory) => existsSync(directory))).toEqual([false, true]);
    rmSync(used, { recursive: true });
  });

  it("is left alone if another user could have put something in it", async () => {
    const ended = spawnSync("true").pid;
    const directories = ["open", "filled", "link"].map((name) => join(tmpdir(), `retinue-git-${ended}-${name}`));
    const [open = "", filled = "", link = ""] = directories;
    mkdirSync(open, { mode: 0o777 });
    chmodSync(open, 0o777);
    mkdirSync(join(filled, "sub"), { recursive: true, mode: 0o700 });
    mkdirSync(join(root, "victim"), { mode: 0o700 });
    symlinkSync(join(root, "victim"), link);
    for (const place of [open, join(filled, "sub"), join(root, "victim")]) writeFileSync(join(place, "git"), "");
    rmSync((await run("dirname $(command -v git)")).trim(), { recursive: true, force: true });
    await run("git --version");
    const kept = [join(open, "git"), join(filled, "sub/git"), join(root, "victim/git"), link];
    expect(kept.filter((path) => !existsSync(path))).toEqual([]);
    for (const directory of directories) rmSync(directory, { recursive: true });
  });
});

describe("a submodule whose own configuration runs programs", () => {
  it("is not examined, even if .gitmodules asks for it", async () => {
    const module = join(root, "m");
    mkdirSync(module);
    git(root, "init", "-q");
    git(module, "init", "-q");
    writeFileSync(join(module, "f"), "one\n");
    git(module, "add", "f");
    git(module, "commit", "-qm", "one");
    git(root, "add", "m");
    writeFileSync(join(root, ".gitmodules"), '[submodule "m"]\n\tpath = m\n\turl = ./m\n\tignore = none\n');
    git(root, "add", ".gitmodules");
    git(root, "commit", "-qm", "module");
    mkdirSync(join(module, ".git/info"), { recursive: true });
    writeFileSync(join(module, ".git/info/attributes"), "* filter=e\n");
    git(module, "config", "filter.e.clean", canary("clean"));
    writeFileSync(join(module, "f"), "two\n");
    for (const command of ["git status -s", "git diff", "git diff-files", "git diff-index HEAD", "git -C . status"])
      await run(command);
    expect(readdirSync(canaries)).toEqual([]);
    await run("git status -s", "allowed");
    expect(readdirSync(canaries)).toEqual(["clean"]);
  });
});
