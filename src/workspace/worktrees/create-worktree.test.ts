import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { plural } from "../../lib/index.ts";
import { copyChanges } from "./copy-changes.ts";
import { createWorktree } from "./create-worktree.ts";
import { gitDirectoryOf } from "./find-repository.ts";
import { askGit, openGit } from "./git.ts";
import { settleWorktree } from "./remove-worktree.ts";
import { createTestPlace, gitThat, type TestPlace } from "./repository.test-support.ts";

const textOf = (...path: string[]): string => readFileSync(join(...path), "utf8");

describe("a new worktree", () => {
  it("has the files of the commit, its own branch and a record, and does not change the checkout", async () => {
    const place = createTestPlace();
    place.write({ "a.txt": "changed\n", "new.txt": "new\n" });
    const before = place.git("status", "--porcelain=v2", "--branch");
    const worktree = await place.create();
    expect(worktree).toEqual({
      path: join(place.home, "worktrees/shop-1/a1"),
      directory: join(place.home, "worktrees/shop-1/a1"),
      branch: "retinue/a1",
      base: place.git("rev-parse", "HEAD"),
    });
    expect(textOf(worktree.path, "a.txt")).toBe("one\n");
    expect(existsSync(join(worktree.path, "new.txt"))).toBe(false);
    expect(place.gitIn(worktree.path, "status", "--porcelain=v2", "--branch")).toBe(
      `# branch.oid ${worktree.base}\n# branch.head retinue/a1`,
    );
    expect(place.git("status", "--porcelain=v2", "--branch")).toBe(before);
    expect(JSON.parse(textOf(`${worktree.path}.json`))).toMatchObject({
      state: "ready",
      repository: place.repository,
      branch: "retinue/a1",
      base: worktree.base,
      session: "s1",
      agent: "a1",
      createdAt: 1_000,
    });
  });

  it("contains the requested directory, even one without tracked files", async () => {
    const place = createTestPlace();
    mkdirSync(join(place.repository, "tmp"));
    const source = await place.create("a1", { repository: join(place.repository, "src") });
    expect(source.directory).toBe(join(source.path, "src"));
    const other = await place.create("a2", { repository: join(place.repository, "tmp") });
    expect(statSync(other.directory).isDirectory()).toBe(true);
    expect(await settleWorktree(other, place)).toEqual({ state: "removed" });
  });

  it("can be created from a linked worktree, and ignores git's environment variables", async () => {
    const place = createTestPlace();
    const linked = join(place.root, "linked");
    place.git("worktree", "add", "-q", "-b", "feature", linked);
    place.write({ "c.txt": "three\n" }, linked);
    place.gitIn(linked, "add", "-A");
    place.gitIn(linked, "commit", "-qm", "second");
    const environment = { ...place.environment, GIT_DIR: "/nowhere", GIT_INDEX_FILE: "/nowhere", GIT_WORK_TREE: "/" };
    const worktree = await place.create("a1", { repository: linked, environment });
    expect(textOf(worktree.path, "c.txt")).toBe("three\n");
    expect(await settleWorktree(worktree, { environment })).toEqual({ state: "removed" });
  });

  it("leaves submodules empty", async () => {
    const place = createTestPlace();
    place.git("clone", "-q", place.repository, join(place.root, "library"));
    place.git("submodule", "--quiet", "add", join(place.root, "library"), "library");
    place.git("commit", "-qm", "library");
    const worktree = await place.create("a1", { includeUncommitted: true });
    expect(readdirSync(join(worktree.path, "library"))).toEqual([]);
    expect(await settleWorktree(worktree, place)).toEqual({ state: "removed" });
    const other = await place.create("a2");
    place.gitIn(other.path, "submodule", "--quiet", "update", "--init");
    place.write({ "library/a.txt": "work\n" }, other.path);
    expect(await settleWorktree(other, place)).toMatchObject({
      state: "kept",
      changes: "submodule library contains files",
    });
    expect(textOf(other.path, "library/a.txt")).toBe("work\n");
  });

  it("can be created at the same time as seven others", async () => {
    const place = createTestPlace();
    place.write({ "a.txt": "changed\n" });
    const names = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"];
    const worktrees = await Promise.all(names.map((name) => place.create(name, { includeUncommitted: true })));
    expect(worktrees.map(({ path }) => textOf(path, "a.txt"))).toEqual(names.map(() => "changed\n"));
    expect(place.git("worktree", "list").split("\n")).toHaveLength(9);
    const settled = await Promise.all(worktrees.map((worktree) => settleWorktree(worktree, place)));
    expect(settled).toEqual(names.map(() => ({ state: "removed" })));
    expect(place.git("worktree", "list").split("\n")).toHaveLength(1);
    expect(place.git("branch", "--list", "retinue/*")).toBe("");
  });

  it("is removed even if git fails at first, as it does while another worktree is being removed", async () => {
    const place = createTestPlace();
    const worktree = await place.create("a1");
    const failed = join(place.root, "failed");
    const script = `case "$*" in *remove*) [ -e ${failed} ] || { : > ${failed}; exit 128; };; esac; "$real" "$@"`;
    const environment = gitThat(place, script, "worktree");
    expect(await settleWorktree(worktree, { environment })).toEqual({ state: "removed" });
    expect(existsSync(failed)).toBe(true);
    expect(place.git("worktree", "list").split("\n")).toHaveLength(1);
  });

  it("waits while another git process holds a lock", async () => {
    const place = createTestPlace();
    const lock = join(place.repository, ".git/refs/heads/retinue/a1.lock");
    mkdirSync(join(lock, ".."), { recursive: true });
    writeFileSync(lock, "");
    const failures = join(place.root, "failures");
    const environment = gitThat(
      place,
      `"$real" "$@" || { echo >> ${failures}; rm -f ${lock}; exit 128; }`,
      "update-ref",
    );
    await place.create("a1", { environment });
    expect(textOf(failures)).toBe("\n");
  });

  it("is reused unchanged by the same request", async () => {
    const place = createTestPlace();
    const first = await place.create();
    place.write({ "a.txt": "work\n" }, first.path);
    place.write({ "later.txt": "" });
    place.git("add", "-A");
    place.git("commit", "-qm", "later");
    expect(await place.create()).toEqual(first);
    expect(textOf(first.path, "a.txt")).toBe("work\n");
    expect(await settleWorktree(first, place)).toMatchObject({ state: "kept", changes: "1 file changed" });
    expect(await place.create()).toEqual(first);
  });
});

describe("uncommitted changes", () => {
  it("are copied, whether files were edited, staged, added, deleted, renamed, or changed in kind or mode", async () => {
    const place = createTestPlace();
    const { repository, git, write } = place;
    write({ "gone.txt": "", "moved.txt": "m", "script.sh": "#!/bin/sh\n", "kind/x": "x", plain: "p", "linked/y": "y" });
    symlinkSync("a.txt", join(repository, "link"));
    git("add", "-A");
    git("commit", "-qm", "more");
    write({ "a.txt": "edited\n", "src/b.txt": "staged\n", "new/deep/c d.txt": "new\n", "x.log": "ignored" });
    git("add", "src/b.txt");
    rmSync(join(repository, "gone.txt"));
    git("mv", "moved.txt", "renamed.txt");
    chmodSync(join(repository, "script.sh"), 0o755);
    rmSync(join(repository, "link"));
    symlinkSync("src", join(repository, "link"));
    rmSync(join(repository, "kind"), { recursive: true });
    rmSync(join(repository, "plain"));
    write({ kind: "now a file", "plain/z": "now a directory" });
    rmSync(join(repository, "linked"), { recursive: true });
    symlinkSync(place.root, join(repository, "linked"));
    writeFileSync(join(place.root, "y"), "outside");
    git("init", "-q", "nested");
    writeFileSync(Buffer.concat([Buffer.from(`${repository}/`), Buffer.from([0x66, 0xff])]), "bytes");
    const before = git("status", "--porcelain=v2", "-z");

    const { path, branch } = await place.create("a1", { includeUncommitted: true });
    expect(textOf(path, "a.txt")).toBe("edited\n");
    expect(textOf(path, "src/b.txt")).toBe("staged\n");
    expect(textOf(path, "new/deep/c d.txt")).toBe("new\n");
    expect(textOf(path, "renamed.txt")).toBe("m");
    expect(textOf(path, "kind")).toBe("now a file");
    expect(textOf(path, "plain/z")).toBe("now a directory");
    expect(statSync(join(path, "script.sh")).mode & 0o111).toBe(0o111);
    expect(readlinkSync(join(path, "link"))).toBe("src");
    expect(readlinkSync(join(path, "linked"))).toBe(place.root);
    for (const name of ["gone.txt", "moved.txt", "x.log", "nested"]) expect(existsSync(join(path, name))).toBe(false);
    expect(readFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0x66, 0xff])]), "utf8")).toBe("bytes");
    expect(git("status", "--porcelain=v2", "-z")).toBe(before);
    expect(await settleWorktree({ path, branch }, place)).toEqual({ state: "removed" });
    expect(lstatSync(join(repository, "kind")).isFile()).toBe(true);
  });

  it("are the baseline for later comparisons", async () => {
    const place = createTestPlace();
    place.write({ "a.txt": "edited\n", "new.txt": "new\n" });
    const worktree = await place.create("a1", { includeUncommitted: true });
    place.write({ "a.txt": "one\n" }, worktree.path);
    rmSync(join(worktree.path, "new.txt"));
    expect(place.gitIn(worktree.path, "status", "--porcelain")).toBe("");
    expect(await settleWorktree(worktree, place)).toMatchObject({ state: "kept", changes: "2 files changed" });
  });

  it("add no objects to the repository", async () => {
    const place = createTestPlace();
    place.write({ "a.txt": "edited\n", "new.txt": "new\n" });
    const before = place.git("count-objects");
    const worktree = await place.create("a1", { includeUncommitted: true });
    place.write({ "more.txt": "more\n" }, worktree.path);
    await settleWorktree(worktree, place);
    expect(place.git("count-objects")).toBe(before);
  });
});

describe("programs from a repository", () => {
  it("are not run on any branch, whether they are hooks, file system monitors or filters", async () => {
    const place = createTestPlace();
    const { git, repository } = place;
    const mark = join(place.root, "ran");
    place.write({ ".gitattributes": "*.bin filter=evil\n*.txt filter=branch=x\n", "x.bin": "stored\n" });
    git("add", "-A");
    git("commit", "-qm", "attributes");
    const script = join(place.root, "script");
    writeFileSync(script, `#!/bin/sh\necho "$0 $*" >> ${mark}\ncat\n`, { mode: 0o755 });
    for (const hook of ["post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-rewrite"]) {
      writeFileSync(join(repository, ".git/hooks", hook), `#!/bin/sh\necho ${hook} >> ${mark}\n`, { mode: 0o755 });
    }
    writeFileSync(
      join(repository, ".git/branch-config"),
      `[filter "branch=x"]\nsmudge = ${script}\nclean = ${script}\nrequired = true\n`,
    );
    git("config", "core.fsmonitor", script);
    git("config", "includeIf.onbranch:retinue/**.path", join(repository, ".git/branch-config"));
    for (const key of ["smudge", "clean"]) git("config", `filter.evil.${key}`, script);
    git("config", "filter.evil.process", script);
    git("config", "filter.evil.required", "true");
    rmSync(mark, { force: true });
    place.write({ "x.bin": "changed\n" });

    for (const includeUncommitted of [true, false]) {
      const agent = `a${Number(includeUncommitted)}`;
      const worktree = await place.create(agent, { includeUncommitted });
      expect(textOf(worktree.path, "x.bin")).toBe("changed\n");
      expect(textOf(worktree.path, "a.txt")).toBe("one\n");
      place.write({ "x.bin": "changed again\n" }, worktree.path);
      expect(await settleWorktree(worktree, place)).toMatchObject({ state: "kept", changes: "1 file changed" });
      place.write({ "x.bin": "changed\n" }, worktree.path);
      expect(await settleWorktree(worktree, place)).toEqual({ state: "removed" });
    }
    expect(existsSync(mark) ? textOf(mark) : "nothing ran").toBe("nothing ran");
    // Shows that git runs the programs if Retinue's settings are absent.
    try {
      git("status");
    } catch {}
    expect(textOf(mark)).not.toBe("");
  });

  it("are not needed for large files, which are copied from the checkout", async () => {
    const place = createTestPlace();
    place.git("config", "filter.large.clean", "sed s/content/pointer/");
    place.git("config", "filter.large.smudge", "sed s/pointer/content/");
    place.write({ ".gitattributes": "*.bin filter=large\n", "x.bin": "content\n", "y.bin": "content\n" });
    place.git("add", "-A");
    place.git("commit", "-qm", "large");
    expect(place.git("show", "HEAD:x.bin")).toBe("pointer");
    rmSync(join(place.repository, "y.bin"));
    const worktree = await place.create();
    expect(textOf(worktree.path, "x.bin")).toBe("content\n");
    expect(textOf(worktree.path, "y.bin")).toBe("pointer\n");
    expect(place.gitIn(worktree.path, "status", "--porcelain")).toBe("");
    expect(await settleWorktree(worktree, place)).toEqual({ state: "removed" });
  });

  it("can't be reached by changing a worktree's .git file", async () => {
    const place = createTestPlace();
    const worktree = await place.create();
    const mark = join(place.root, "ran");
    const trap = join(place.root, "trap");
    place.git("clone", "-q", place.repository, trap);
    place.gitIn(trap, "config", "core.fsmonitor", `touch ${mark}`);
    writeFileSync(join(worktree.path, ".git"), `gitdir: ${trap}/.git\n`);
    expect(await settleWorktree(worktree, place)).toMatchObject({ state: "kept", changes: "its .git was replaced" });
    expect(existsSync(mark)).toBe(false);
  });
});

describe("a worktree that can't be created", () => {
  const cases: readonly (readonly [string, (place: TestPlace) => object | undefined, RegExp])[] = [
    ["no repository", ({ root }) => ({ repository: root }), /is not in a git repository.*git init/],
    ["no directory", ({ root }) => ({ repository: join(root, "none") }), /none does not exist/],
    [
      "no commit",
      ({ root, gitIn }) => {
        gitIn(root, "init", "-q", "empty");
        return { repository: join(root, "empty") };
      },
      /empty has no commits yet.*git commit/,
    ],
    [
      "a bare repository",
      ({ root, gitIn }) => {
        gitIn(root, "clone", "-q", "--bare", "shop", "bare");
        return { repository: join(root, "bare") };
      },
      /is a bare git repository. Work in one of its checkouts/,
    ],
    ["git's own files", ({ repository }) => ({ repository: join(repository, ".git") }), /is inside a \.git directory/],
    ["no git", ({ environment }) => ({ environment: { ...environment, PATH: "/nowhere" } }), /git: no such program/],
    [
      "a branch of that name",
      ({ git }) => void git("branch", "retinue/a1"),
      /already has a branch retinue\/a1, left by an earlier run\. Inspect it .* delete it/,
    ],
    [
      "a branch that blocks its name",
      ({ git }) => void git("branch", "retinue"),
      /has a branch retinue, so.*branch -m retinue/,
    ],
    [
      "something in its place",
      ({ home, write }) => void write({ "worktrees/shop-1/a1/x": "" }, home),
      /a1 already exists and is not an agent's worktree/,
    ],
    [
      "a working tree that is set to another directory",
      ({ git, root }) => void git("config", "core.worktree", root),
      /is set to another directory. Unset core.worktree/,
    ],
    [
      "an unreadable configuration",
      ({ repository }) => void writeFileSync(join(repository, ".git/config"), "[broken"),
      /bad config/,
    ],
  ];
  it.each(cases)("because of %s is reported, and leaves nothing behind", async (_, prepare, message) => {
    const place = createTestPlace();
    const more = prepare(place) ?? {};
    const before = readdirSync(join(place.repository, ".git/refs/heads"), { recursive: true });
    expect(await createWorktree({ ...place.request("a1"), ...more })).toEqual({
      ok: false,
      message: expect.stringMatching(message),
    });
    expect(existsSync(join(place.home, "worktrees/shop-1/a1.json"))).toBe(false);
    expect(readdirSync(join(place.repository, ".git/refs/heads"), { recursive: true })).toEqual(before);
  });

  it("from a partial clone without the files is reported, because nothing is fetched", async () => {
    const place = createTestPlace();
    place.git("config", "uploadpack.allowFilter", "true");
    place.gitIn(place.root, "clone", "-q", "--no-checkout", "--filter=blob:none", `file://${place.repository}`, "part");
    const created = await createWorktree(place.request("a1", { repository: join(place.root, "part") }));
    expect(created).toEqual({
      ok: false,
      message: expect.stringMatching(/git read-tree failed: .*(lazy fetching disabled|'file' not allowed)/),
    });
    expect(place.gitIn(join(place.root, "part"), "branch", "--list", "retinue/*")).toBe("");
  });

  it("is reported if there is too much to copy", async () => {
    const place = createTestPlace();
    const { path } = await place.create();
    place.write({ x: "12345", y: "12345" });
    const open = (workTree: string) =>
      openGit({
        environment: place.environment,
        cwd: workTree,
        workTree,
        gitDirectory: gitDirectoryOf(workTree) ?? "",
      });
    const trees = { from: await open(place.repository), to: await open(path), includeUncommitted: true };
    for (const most of [
      { files: 1, bytes: 100 },
      { files: 2, bytes: 9 },
    ]) {
      await expect(copyChanges({ ...trees, most })).rejects.toMatchObject({
        message: `${place.repository} has too many uncommitted changes to copy (over ${plural(most.files, "file")} or ${most.bytes} B)`,
      });
    }
    expect(await copyChanges({ ...trees, most: { files: 2, bytes: 10 } })).toMatchObject({ files: ["x", "y"] });
  });

  it("is abandoned if git does not finish", async () => {
    const place = createTestPlace();
    const environment = gitThat(place, "sleep 60", "rev-parse");
    const answer = await askGit(["rev-parse"], { environment, cwd: place.repository }, { limitMs: 200 });
    expect(answer.told).toBe("git rev-parse was stopped because it took longer than 0.2 seconds.");
    expect(answer.code).not.toBe(0);
  });

  it("is cleaned up after a failure", async () => {
    const place = createTestPlace();
    for (const command of ["worktree", "read-tree", "ls-files"]) {
      const environment = gitThat(place, "echo fatal: the disk is full >&2; exit 128", command);
      const created = await createWorktree(place.request("a1", { environment, includeUncommitted: true }));
      expect(created).toEqual({ ok: false, message: expect.stringContaining("the disk is full") });
      expect(place.git("branch", "--list", "retinue/*")).toBe("");
    }
    // The failing git could not unregister the last two worktrees, but git removes them once their directories are
    // missing.
    place.git("worktree", "prune");
    expect(place.git("worktree", "list").split("\n")).toHaveLength(1);
    await place.create();
  });

  it("is reported if its directory was deleted and its branch has commits, and is recreated otherwise", async () => {
    const place = createTestPlace();
    const worktree = await place.create();
    rmSync(worktree.path, { recursive: true });
    expect(await place.create()).toEqual(worktree);
    place.gitIn(worktree.path, "commit", "-q", "--allow-empty", "-m", "work");
    rmSync(worktree.path, { recursive: true });
    const again = await createWorktree(place.request());
    expect(again).toMatchObject({
      ok: false,
      message: expect.stringMatching(/on the branch retinue\/a1.*worktree add/),
    });
    // Runs the command that the message suggests.
    const [, words = ""] = /(git -C .*)\.$/.exec(again.ok ? "" : again.message) ?? [];
    execFileSync("sh", ["-c", words], {
      env: place.environment,
      stdio: "pipe",
    });
    expect(await place.create()).toEqual(worktree);
  });

  it("is reported if its path contains another repository's worktree", async () => {
    const place = createTestPlace();
    await place.create();
    renameSync(place.repository, join(place.root, "old"));
    place.gitIn(place.root, "clone", "-q", "old", "new");
    const created = await createWorktree(place.request("a1", { repository: join(place.root, "new") }));
    expect(created).toMatchObject({ ok: false, message: expect.stringContaining(`worktree of ${place.repository}`) });
  });
});
