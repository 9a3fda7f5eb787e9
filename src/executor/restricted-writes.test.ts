import { execFileSync, execSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Rule } from "../protocol/index.ts";
import { allow, bash, createRealProject, deny, type RealProject } from "./real-calls.test-support.ts";

let project: RealProject;

beforeEach(() => {
  project = createRealProject();
  project.put("src/a.ts", "old\n");
  project.put("docs/a.md", "old\n");
});
afterEach(() => project.remove());

const at = (path: string): string => join(project.root, path);
const shell = (command: string) => execSync(command, { cwd: project.root, stdio: "pipe" });
const contents = (path: string) => (existsSync(at(path)) ? readFileSync(at(path), "utf8") : undefined);

/** Creates a repository in which the branch `other` changes `src/a.ts`, and files that contain that change. */
function createBranches(): void {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: project.root, stdio: "pipe" });
  git("init", "-qb", "main");
  shell("git config user.name a && git config user.email a@b");
  git("add", ".");
  git("commit", "-qm", "one");
  git("checkout", "-qb", "other");
  project.put("src/a.ts", "new\n");
  git("commit", "-qam", "two");
  shell("git diff main other > ../change.patch && git format-patch --stdout main > ../change.mbox");
  git("checkout", "-q", "main");
  shell("mv ../change.patch ../change.mbox .");
}

const commands = "git cp mv rm tar unzip patch truncate tee sed touch dd ln chmod gzip find".split(" ");
const all = commands.map((name) => allow(`Bash(${name}:*)`));

async function run(command: string, ...rules: readonly Rule[]) {
  const [result] = await project.run([bash(command)], { rules: [...all, ...rules] });
  return result!.outcome;
}

/** Rules that restrict `src/a.ts` in different ways. */
const restrictions: readonly (readonly [string, readonly Rule[]])[] = [
  ["a directory", [deny("Edit(src/**)")]],
  ["a file", [deny("Edit(src/a.ts)")]],
  ["a name", [deny("Write(a.ts)")]],
  ["everything", [deny("Edit")]],
  ["every path", [deny("Edit(**)")]],
  ["all but one directory", [compact("Edit", "deny"), compact("Edit(docs/**)", "allow")]],
  ["a directory, with approval", [{ text: "Edit(src/**)", effect: "ask", scope: "user" }]],
];

function compact(text: string, effect: Rule["effect"]): Rule {
  return { text, effect, scope: "user", form: "compact" };
}

describe.each(restrictions)("a command under a wildcard, with a rule that restricts writing %s", (_, rules) => {
  it.each([
    "cp -r in/. .",
    "cp -r in/src .",
    "cp -rT in .",
    "cp -r in/* .",
    "cp -rt . in/src",
    "cp -a in/. ./",
    "cp -r in/. docs/..",
    "cp in/src/a.ts src",
    "cp in/src/a.ts src/a.ts",
    "mv in/src/a.ts src/",
    "mv -f in/src/a.ts src/a.ts",
    "mv src other",
    "rm src/a.ts",
    "rm -r src",
    "rm -rf s*",
    "tar xf in.tar",
    "tar xf in.tar -C .",
    "tar -xf a.tar -C src",
    "truncate -s 0 hard",
    "truncate -s 0 soft",
    "truncate -s0 src/a.ts",
    "echo new | tee src/a.ts",
    "sed -i s/old/new/ src/a.ts",
    "sed -i s/old/new/ soft",
    "dd if=in/src/a.ts of=src/a.ts",
    "cp in/src/a.ts soft",
    "cp -r links/. .",
    "ln -sf ../docs/a.md src/a.ts",
    "rm -rf ./*c",
    "chmod -R 600 src",
    "gzip -r src",
    "tar xf a.tar --one-top-level=src",
    "cd in && cp -r . ..",
    "for d in src; do rm -r $d; done",
    "find src -name a.ts -exec rm {} +",
  ])("does not change the file: %s", async (command) => {
    project.put("in/src/a.ts", "new\n");
    project.put("links/soft", "new\n");
    symlinkSync("src/a.ts", at("soft"));
    linkSync(at("src/a.ts"), at("hard"));
    shell("tar cf in.tar -C in src; tar cf a.tar -C in/src a.ts");
    const outcome = await run(command, ...rules);
    expect([outcome, contents("src/a.ts")]).toEqual(["denied", "old\n"]);
  });
});

describe.each(restrictions.slice(1, 4))("a git command, with a rule that restricts writing %s", (_, rules) => {
  it.each([
    "git checkout other",
    "git checkout -q other -- .",
    "git checkout other -- src",
    "git checkout -q other src/a.ts",
    "git restore -s other .",
    "git restore --source=other src",
    "git switch other",
    "git switch --detach other",
    "git merge other",
    "git merge --squash other",
    "git cherry-pick other",
    "git rebase other",
    "git pull . other",
    "git apply change.patch",
    "git apply --index change.patch",
    "git am change.mbox",
    "git stash pop",
    "git rm -rq .",
    "git rm -q src/a.ts",
    "git mv src other",
    "patch -p1 -i change.patch",
    "patch -p1 < change.patch",
    "git restore src",
    "git checkout other -- src/a.ts",
    "git restore -s other -- ./src/../src/a.ts",
    "git checkout -- ':/'",
    "git worktree add src/w",
    "git clone . src/w",
  ])("does not change the file: %s", async (command) => {
    createBranches();
    if (command.includes("stash")) shell("git checkout -q other . && git stash -q");
    const outcome = await run(command, ...rules);
    expect([outcome, contents("src/a.ts")]).toEqual(["denied", "old\n"]);
  });

  it("does not save changes away: git stash", async () => {
    createBranches();
    project.put("src/a.ts", "mine\n");
    expect([await run("git stash", ...rules), contents("src/a.ts")]).toEqual(["denied", "mine\n"]);
  });
});

describe("rules in their written order", () => {
  const about = [compact("Bash", "allow"), compact("Bash(git push:*)", "deny")];
  const inFile = (rules: readonly Rule[]) => ({ rules });
  const inDefinition = (rules: readonly Rule[]) => ({ rules: [], layers: [{ rules, settles: true as const }] });

  it.each([
    ["a file", inFile],
    ["a definition", inDefinition],
  ])("about commands do not lift one about writing: in %s", async (_, policyOf) => {
    const everything = compact("*", "allow");
    for (const rules of [
      [everything, compact("Edit", "deny"), ...about],
      [compact("Edit", "ask"), ...about],
      [compact("Edit(src/**)", "deny"), ...about],
    ]) {
      const [result] = await project.run([bash("echo x > src/a.ts")], policyOf(rules));
      expect([result!.outcome, contents("src/a.ts")]).toEqual(["denied", "old\n"]);
    }
    const rules = [compact("Edit", "deny"), compact("Edit(src/**)", "allow"), ...about];
    const [result] = await project.run([bash("echo x > src/a.ts")], policyOf(rules));
    expect([result!.outcome, contents("src/a.ts")]).toEqual(["ok", "x\n"]);
  });
});

describe("a rule that restricts writing elsewhere", () => {
  it.each(["Edit(lib/**)", "Edit(*.lock)", "Edit(docs/b.md)", "Edit(~/notes/**)"])(
    "leaves copying, moving and removing alone: %s",
    async (rule) => {
      project.put("in/src/b.ts", "new\n");
      for (const command of ["cp -r in/. .", "mv src/b.ts src/c.ts", "cp -r src other", "rm -r in", "mv other third"])
        expect([command, await run(command, deny(rule))]).toEqual([command, "ok"]);
      expect(contents("src/c.ts")).toBe("new\n");
    },
  );

  it.each(["Edit(~/notes/**)", "Edit(//etc/**)", "Read(*.pem)"])("leaves git and archives alone: %s", async (rule) => {
    createBranches();
    shell("tar cf a.tar src; mkdir out");
    for (const command of ["tar xf a.tar -C out", "git checkout other", "git stash", "git merge main"])
      expect([command, await run(command, deny(rule))]).toEqual([command, "ok"]);
  });

  it("leaves git commands alone that write no files of the working tree, or only files that the rules allow", async () => {
    createBranches();
    project.put("docs/a.md", "new\n");
    for (const command of [
      "git add docs/a.md",
      "git commit -qm x",
      "git checkout -b third",
      "git branch fourth",
      "git tag v1",
      "git restore -s other -- docs/a.md",
    ])
      expect([command, await run(command, deny("Edit(src/**)"))]).toEqual([command, "ok"]);
  });
});

describe("a recursive copy", () => {
  it.each(["cp -r in/. out", "cp -rT in out", "cp -a in/* out", "cp -r in/x out", "cp -Rt out in/x", "mv in/x out"])(
    "does not write through a symlink in its destination: %s",
    async (command) => {
      project.put("../victim", "old\n");
      project.put("in/x", "new\n");
      mkdirSync(at("out"));
      symlinkSync("../../victim", at("out/x"));
      await run(command);
      expect(contents("../victim")).toBe("old\n");
    },
  );

  it("does not write through a hard link in its destination", async () => {
    project.put("in/x", "new\n");
    mkdirSync(at("out"));
    linkSync(at("docs/a.md"), at("out/x"));
    expect([await run("cp -r in/. out"), contents("docs/a.md")]).toEqual(["denied", "old\n"]);
  });

  it("may replace ordinary files", async () => {
    project.put("in/x", "new\n");
    project.put("out/x", "old\n");
    expect([await run("cp -r in/. out"), contents("out/x")]).toEqual(["ok", "new\n"]);
  });
});

describe("rules on the machine of a worker", () => {
  it.each(["cp -r in/. .", "rm -r src", "git checkout other"])("also restrict %s", async (command) => {
    project.put("in/src/a.ts", "new\n");
    createBranches();
    const limits = {
      ...{ mode: "default" as const, pool: ["Bash"], rules: [deny("Edit(src/a.ts)")], workspaceRoots: [project.root] },
      readableRoots: [],
    };
    const [result] = await project.run([bash(command)], { rules: all, limits });
    expect([result!.outcome, contents("src/a.ts")]).toEqual(["denied", "old\n"]);
  });
});

describe("a directory that would become a git repository", () => {
  const policy = { mode: "acceptEdits" as const, rules: all };

  it.each([
    ["Write", { file_path: "sub/HEAD", content: "ref: refs/heads/main" }],
    ["Write", { file_path: "x.git/config", content: "[core]" }],
    bash("echo x > sub/HEAD"),
    bash("cp docs/a.md sub/HEAD"),
    bash("mkdir sub; cp -r in sub"),
    bash("mv docs/a.md sub/HEAD"),
    bash("echo x | tee x.git/config"),
  ] as const)("needs approval for its files: %s %j", async (...call) => {
    project.put("in/HEAD", "ref: refs/heads/main");
    const [result] = await project.run([call], policy);
    expect(result!.outcome).toBe("denied");
  });

  it("does not affect revisions and addresses with such names", async () => {
    createBranches();
    for (const command of [
      "git reset HEAD",
      "git reset -q HEAD docs/a.md",
      "git remote get-url x.git",
      "git branch x HEAD",
    ])
      expect([command, (await project.run([bash(command)], policy))[0]!.outcome]).not.toEqual([command, "denied"]);
  });
});
