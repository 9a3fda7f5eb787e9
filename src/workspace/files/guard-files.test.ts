import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hashBytes } from "../../lib/index.ts";
import { holdsInstructions, protectedPart } from "../../permissions/index.ts";
import type { Workspace } from "../../ports/index.ts";
import { createLocalWorkspace } from "../local-workspace.ts";
import { createTestPlace } from "../worktrees/repository.test-support.ts";

const matters = (path: string): boolean => protectedPart(path) !== undefined || holdsInstructions(path);

let root = "";
let workspace: Workspace;

const at = (name: string): string => join(root, name);
const write = (name: string, text: string): void => {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
};

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-guard-")));
  write("package.json", "{}\n");
  write("notes.txt", "notes\n");
  write(".claude/settings.json", "{}\n");
  write(".claude/agents/a.md", "A\n");
  workspace = createLocalWorkspace({ root, environment: {} });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Returns the changes that a review finds after `change`, with paths relative to the workspace. */
function changesOf(change: () => void) {
  const guard = workspace.guard?.(matters);
  change();
  return (guard?.review() ?? []).map(({ path, ...rest }) => ({ path: relative(root, path), ...rest }));
}

describe("the guard of protected files", () => {
  it.each([
    "package.json",
    ".npmrc",
    "AGENTS.md",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents/b.md",
    ".cargo/config.toml",
    ".mvn/jvm.config",
    ".mise/config.toml",
    ".bundle/config",
    ".direnv/x",
    ".devcontainer/node/devcontainer.json",
    ".idea/runConfigurations/x.xml",
    ".tekton/sub/x.yaml",
    "gradle/wrapper/gradle-wrapper.jar",
    "mise/config.toml",
    "tools/bazel",
    ".claude/skills/s/SKILL.md",
    ".claude/hooks/run.sh",
    ".agents/agents/b.md",
    ".retinue/settings.json",
    ".retinue/permissions.jsonc",
    ".retinue/agents/b.md",
    ".github/workflows/ci.yml",
    ".github/copilot-instructions.md",
    ".husky/pre-commit",
    ".vscode/tasks.json",
    ".idea/run.xml",
    ".gemini/settings.json",
    ".config/fish/config.fish",
    ".gitea/workflows/ci.yml",
  ])("notices that %s was written, and knows what it contained", (name) => {
    for (const text of ["one\n", "two\n"]) {
      const existed = name === "package.json" || name === ".claude/settings.json" ? "{}\n" : null;
      const before = text === "two\n" ? "one\n" : existed;
      const [change, ...others] = changesOf(() => write(name, text));
      expect(others).toEqual([]);
      expect(change).toMatchObject({ path: name, after: hashBytes(Buffer.from(text)) });
      expect(change?.before && Buffer.from(change.before).toString()).toBe(before);
    }
  });

  it.each<[string, () => void, readonly string[]]>([
    ["deleted", () => rmSync(at("package.json")), ["package.json"]],
    [
      "replaced",
      () => {
        write("new", "{ }\n");
        renameSync(at("new"), at("package.json"));
      },
      ["package.json"],
    ],
    ["made executable", () => chmodSync(at(".claude/agents/a.md"), 0o755), [".claude/agents/a.md"]],
    [
      "replaced with a symlink",
      () => {
        rmSync(at("package.json"));
        symlinkSync("notes.txt", at("package.json"));
      },
      ["package.json"],
    ],
    [
      "changed through a hard link",
      () => {
        linkSync(at("package.json"), at("other"));
        writeFileSync(at("other"), "{ }\n");
      },
      ["package.json"],
    ],
    [
      "moved with its directory",
      () => renameSync(at(".claude"), at("elsewhere")),
      [".claude/agents/a.md", ".claude/settings.json"],
    ],
    [
      "given an old date",
      () => {
        write("package.json", "{ }\n");
        utimesSync(at("package.json"), 1, 1);
      },
      ["package.json"],
    ],
  ])("notices that a file was %s", (_, change, paths) => {
    expect(
      changesOf(change)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(paths);
  });

  it.each<[string, () => void]>([
    [
      "other files",
      () => {
        for (const name of ["notes.txt", "src/package.json.txt", "dist/a.js"]) write(name, "new\n");
      },
    ],
    ["touched files", () => utimesSync(at("package.json"), 1, 1)],
    [
      "Retinue's own state",
      () => {
        for (const name of [".retinue/projects/p/s.jsonl", ".retinue/server.json"]) write(name, "new\n");
      },
    ],
    ["nothing", () => undefined],
  ])("reports no change: %s", (_, change) => {
    expect(changesOf(change)).toEqual([]);
  });

  it("reports each change once, whichever guard asks first, and none that Retinue made", async () => {
    const guards = [workspace.guard?.(matters), workspace.guard?.(matters)];
    write("package.json", "{ }\n");
    expect(guards.map((guard) => guard?.review().length)).toEqual([1, 0]);
    expect(guards.map((guard) => guard?.review().length)).toEqual([0, 0]);
    await workspace.write(at("package.json"), Buffer.from("{ 1 }\n"), {});
    await workspace.write(at("AGENTS.md"), Buffer.from("Use tabs.\n"), {});
    expect(guards.map((guard) => guard?.review().length)).toEqual([0, 0]);
    write("AGENTS.md", "Use spaces.\n");
    expect(guards[0]?.review()).toMatchObject([{ path: at("AGENTS.md"), before: Buffer.from("Use tabs.\n") }]);
  });

  it("watches the files of git that decide what runs, in a worktree too", async () => {
    const place = createTestPlace();
    const { repository } = place;
    const worktree = await place.create();
    for (const directory of [repository, worktree.path]) {
      const guard = createLocalWorkspace({ root: directory, environment: {} }).guard?.(matters);
      const hook = join(repository, ".git/hooks/pre-commit");
      writeFileSync(hook, "#!/bin/sh\n");
      writeFileSync(join(repository, ".git/config"), `${readFileSync(join(repository, ".git/config"), "utf8")}\n`);
      const paths = guard?.review().map(({ path }) => path);
      expect(paths).toEqual(expect.arrayContaining([hook, join(repository, ".git/config")]));
      rmSync(hook);
    }
  });

  it.each([
    ["git switch -q -c other", 0],
    ["git branch -q --track other2 main", 0],
    ["git config branch.main.merge refs/heads/x", 0],
    ["git config core.hooksPath x", 1],
    ["git config branch.main.x '!./x'", 1],
    ["git config alias.st '!./x'", 1],
    ["git remote add up ext::./x", 1],
  ])("%s: reports %s changes, so that work with branches is not disturbed", (command, count) => {
    const { repository, git } = createTestPlace();
    git("branch", "-M", "main");
    const guard = createLocalWorkspace({ root: repository, environment: {} }).guard?.(matters);
    git(...(command.match(/'[^']*'|\S+/g) ?? []).slice(1).map((word) => word.replaceAll("'", "")));
    expect(guard?.review()).toHaveLength(count);
  });

  it("finds the change among many files", () => {
    for (let index = 0; index < 3_000; index += 1) writeFileSync(at(`${index}.txt`), "");
    for (let index = 0; index < 300; index += 1) write(`.claude/agents/${index}.md`, "A\n");
    const guard = workspace.guard?.(matters);
    write(".claude/agents/7.md", "B\n");
    expect(guard?.review()).toHaveLength(1);
  });
});
