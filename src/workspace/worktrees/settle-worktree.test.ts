import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Worktree } from "./create-worktree.ts";
import { settleWorktree } from "./remove-worktree.ts";
import { createTestPlace, type TestPlace } from "./repository.test-support.ts";

type Work = (git: (...args: string[]) => string, worktree: Worktree, place: TestPlace) => void;

async function settleAfter(work: Work, includeUncommitted = false) {
  const place = createTestPlace();
  if (includeUncommitted) place.write({ "a.txt": "edited\n", "new.txt": "new\n" });
  const worktree = await place.create("a1", { includeUncommitted });
  work((...args) => place.gitIn(worktree.path, ...args), worktree, place);
  return { settled: await settleWorktree(worktree, place), place, worktree };
}

const write = ({ path }: Worktree, name: string, content: string): void => writeFileSync(join(path, name), content);

describe("a worktree is kept", () => {
  const cases: readonly (readonly [string, Work, string])[] = [
    ["an edited file", (_, tree) => write(tree, "a.txt", "two\n"), "1 file changed"],
    [
      "an edit of the same length and time",
      (_, tree) => {
        write(tree, "a.txt", "0ne\n");
        utimesSync(join(tree.path, "a.txt"), 1, 1);
      },
      "1 file changed",
    ],
    ["new and deleted files", (_, t) => [write(t, "x", ""), rmSync(join(t.path, "src/b.txt"))], "2 files changed"],
    ["a new mode", (_, { path }) => chmodSync(join(path, "a.txt"), 0o755), "1 file changed"],
    [
      "a commit",
      (git, tree) => {
        write(tree, "a.txt", "two\n");
        git("commit", "-qam", "work");
      },
      "1 file changed, 1 commit",
    ],
    ["an empty commit", (git) => git("commit", "-q", "--allow-empty", "-m", "work"), "1 commit"],
    [
      "a commit without a branch",
      (git) => [git("checkout", "-q", "--detach"), git("commit", "-q", "--allow-empty", "-m", "work")],
      "1 commit",
    ],
    [
      "a commit that was undone",
      (git, { base }) => [git("commit", "-q", "--allow-empty", "-m", "work"), git("reset", "-q", "--hard", base)],
      "1 commit on no branch",
    ],
    [
      "files that are only staged",
      (git, tree) => {
        write(tree, "x", "work");
        git("add", "x");
        rmSync(join(tree.path, "x"));
      },
      "1 file staged",
    ],
    [
      "a file that git was told to ignore",
      (git, tree) => {
        git("update-index", "--assume-unchanged", "a.txt");
        git("update-index", "--skip-worktree", "src/b.txt");
        write(tree, "a.txt", "work\n");
        write(tree, "src/b.txt", "work\n");
      },
      "2 files changed",
    ],
    ["newly ignored files", (_, tree) => [write(tree, ".gitignore", "*"), write(tree, "x", "work")], "1 file changed"],
    ["a repository inside", (git) => git("init", "-q", "inner"), "1 file changed"],
    [
      "a merge in progress",
      (git, { base }) => {
        git("checkout", "-q", "-b", "other");
        git("commit", "-q", "--allow-empty", "-m", "other");
        git("checkout", "-q", "retinue/a1");
        git("commit", "-q", "--allow-empty", "-m", "own");
        git("merge", "-q", "--no-commit", "--no-ff", "other");
        git("update-ref", "refs/heads/retinue/a1", base);
      },
      "a merge or rebase in progress",
    ],
    ["a lock", (git, { path }) => git("worktree", "lock", path), "locked"],
    ["no .git", (_, { path }) => rmSync(join(path, ".git")), "its .git was replaced"],
    [
      "a missing repository",
      (_, _tree, { repository }) => rmSync(repository, { recursive: true }),
      "orphan: it is no longer registered in the repository",
    ],
    ["a missing record", (_, { path }) => rmSync(`${path}.json`), "its record is missing"],
    ["a broken record", (_, { path }) => writeFileSync(`${path}.json`, "{"), "its record is missing"],
    ["a missing record of its files", (_, { path }) => rmSync(`${path}.index`), "orphan: the record of its files"],
  ];
  it.each(cases)("with %s", async (_, work, changes) => {
    const { settled, worktree } = await settleAfter(work);
    const { path, branch } = worktree;
    expect(settled).toEqual({ state: "kept", path, branch, changes: expect.stringContaining(changes) });
    expect(existsSync(join(path, ".gitignore"))).toBe(true);
  });

  it("with commits, if its directory was deleted", async () => {
    const { settled, place } = await settleAfter((git, { path }) => {
      git("commit", "-q", "--allow-empty", "-m", "work");
      rmSync(path, { recursive: true });
    });
    expect(settled).toMatchObject({ state: "kept", changes: "directory deleted, 1 commit" });
    expect(place.git("log", "--format=%s", "retinue/a1")).toBe("work\nfirst");
  });

  it("if the copied changes were committed", async () => {
    const { settled } = await settleAfter((git) => [git("add", "-A"), git("commit", "-qm", "theirs")], true);
    expect(settled).toMatchObject({ state: "kept", changes: "1 commit" });
  });
});

describe("a worktree is removed with its branch", () => {
  const cases: readonly (readonly [string, Work, boolean])[] = [
    ["nothing was changed", () => undefined, false],
    ["only ignored files are new", (_, tree) => write(tree, "x.log", "log"), false],
    ["a file was written again unchanged", (_, tree) => write(tree, "a.txt", "one\n"), false],
    ["the copied changes were only staged", (git) => git("add", "-A"), true],
    ["another branch was created and left empty", (git) => git("checkout", "-q", "-b", "idea"), false],
    ["its directory was deleted", (_, { path }) => rmSync(path, { recursive: true }), false],
    ["its branch was renamed", (git) => git("branch", "-m", "idea"), false],
    [
      "an ignored directory is read-only",
      (_, { path }) => {
        mkdirSync(join(path, "dist/cache"), { recursive: true });
        writeFileSync(join(path, "dist/cache/x"), "");
        chmodSync(join(path, "dist/cache"), 0o555);
        chmodSync(join(path, "dist"), 0o555);
      },
      false,
    ],
    [
      "an ignored link leads to a directory outside",
      (_, { path }, { repository }) => symlinkSync(repository, join(path, "link.log")),
      false,
    ],
  ];
  it.each(cases)("if %s", async (_, work, includeUncommitted) => {
    const { settled, place, worktree } = await settleAfter(work, includeUncommitted);
    expect(settled).toEqual({ state: "removed" });
    for (const end of ["", ".json", ".index", ".removing"]) expect(existsSync(worktree.path + end)).toBe(false);
    expect(place.git("branch", "--list", "retinue/*")).toBe("");
    expect(place.git("worktree", "list").split("\n")).toHaveLength(1);
    expect(readFileSync(join(place.repository, ".gitignore"), "utf8")).toContain("dist");
  });

  it("but a stash stays in the repository", async () => {
    const { settled, place } = await settleAfter((git, tree) => {
      write(tree, "a.txt", "work\n");
      git("stash", "-q");
    });
    expect(settled).toEqual({ state: "removed" });
    expect(place.git("show", "stash@{0}:a.txt")).toBe("work");
  });
});

describe("whatever an agent does,", () => {
  type Step = readonly [string, string];
  const name = fc.constantFrom("a.txt", "src/b.txt", "c", "d/e", "x.log");
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.tuple(fc.constant("write"), name),
    fc.tuple(fc.constant("delete"), name),
    fc.tuple(fc.constantFrom("add", "commit", "reset", "stash", "restore"), fc.constant("")),
  );

  it("file content is never lost, unless the file is ignored", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.boolean(), async (steps, includeUncommitted) => {
        const contents = new Set<string>();
        const { settled, place, worktree } = await settleAfter((git, { path }) => {
          for (const [index, [kind, file]] of steps.entries()) {
            const at = join(path, file);
            if (kind === "write") {
              mkdirSync(join(at, ".."), { recursive: true });
              writeFileSync(at, `work ${index}`);
            } else if (kind === "delete") rmSync(at, { force: true });
            else if (kind === "add") git("add", "-A");
            else if (kind === "commit") git("commit", "-q", "--allow-empty", "-am", "work");
            else if (kind === "reset") git("reset", "-q", "--hard", "HEAD");
            else if (kind === "stash") git("stash", "-q", "--include-untracked");
            else git("restore", ".");
          }
          for (const file of ["a.txt", "src/b.txt", "c", "d/e"]) {
            const at = join(path, file);
            const text = existsSync(at) ? readFileSync(at, "utf8") : "";
            if (text.startsWith("work")) contents.add(text);
          }
        }, includeUncommitted);
        if (settled.state === "removed") expect([...contents]).toEqual([]);
        else expect(existsSync(worktree.path)).toBe(true);
        const hasBranch = place.git("branch", "--list", "retinue/*") !== "";
        expect(hasBranch).toBe(settled.state === "kept");
        rmSync(place.root, { recursive: true, force: true });
      }),
      { numRuns: 4 },
    );
  });
});
