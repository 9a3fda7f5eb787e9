import { execFileSync, type StdioOptions } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { type CreatedWorktree, createWorktree, type Worktree, type WorktreeRequest } from "./create-worktree.ts";

type Files = Readonly<Record<string, string>>;

/** Does not use the machine's git configuration. */
export interface TestPlace {
  readonly root: string;
  readonly repository: string;
  readonly home: string;
  readonly environment: Readonly<Record<string, string>>;
  git(...args: string[]): string;
  gitIn(directory: string, ...args: string[]): string;
  write(files: Files, directory?: string): void;
  request(agent?: string, more?: Partial<WorktreeRequest>): WorktreeRequest;
  create(agent?: string, more?: Partial<WorktreeRequest>): Promise<Worktree>;
}

/** Creates a repository with one commit and a state directory; both are deleted after the test. */
export function createTestPlace(): TestPlace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-worktree-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const repository = join(root, "shop");
  const home = join(root, "home");
  const environment = { PATH: process.env["PATH"] ?? "", HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  const gitIn = (directory: string, ...args: string[]): string => runGit(args, { cwd: directory, environment });
  const write = (files: Files, directory = repository): void => writeFiles(files, directory);
  if (template === undefined || !existsSync(template)) template = makeTemplate();
  cpSync(template, repository, { recursive: true });
  const request = (agent = "a1", more: Partial<WorktreeRequest> = {}): WorktreeRequest => ({
    repository,
    directory: join(home, "worktrees", "shop-1", agent),
    branch: `retinue/${agent}`,
    includeUncommitted: false,
    environment,
    now: 1_000,
    session: "s1",
    agent,
    ...more,
  });
  return {
    root,
    repository,
    home,
    environment,
    git: (...args) => gitIn(repository, ...args),
    gitIn,
    write,
    request,
    create: async (agent, more) => mustSucceed(await createWorktree(request(agent, more))),
  };
}

/** Puts a `git` on the PATH that runs the script for one command. In the script, `$real` is the real git. */
export function gitThat(place: TestPlace, script: string, command: string): Record<string, string> {
  const directory = mkdtempSync(join(place.root, "git-"));
  mkdirSync(runningIn(place), { recursive: true });
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  const lines = [
    "#!/bin/sh",
    `real=${real} mark=${runningIn(place)}/$$`,
    "echo > $mark",
    `trap 'rm -f "$mark"' EXIT`,
    `case " $* " in *" ${command} "*) ${script};; *) "$real" "$@";; esac`,
  ];
  writeFileSync(join(directory, "git"), `${lines.join("\n")}\n`, { mode: 0o755 });
  return { ...place.environment, PATH: `${directory}:${place.environment["PATH"]}` };
}

/** Waits until every git started by `gitThat` has ended, because it may outlive the process that started it. */
export async function untilNoGitRuns(place: TestPlace): Promise<void> {
  while (readdirSync(runningIn(place)).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

const runningIn = ({ root }: TestPlace): string => join(root, "running");

let template: string | undefined;
afterAll(() => {
  if (template !== undefined) rmSync(template, { recursive: true, force: true });
});

/** Creates the repository that tests copy, because copying it is faster than creating each one. */
function makeTemplate(): string {
  const cwd = mkdtempSync(join(tmpdir(), "retinue-worktree-template-"));
  const place = { cwd, environment: { PATH: process.env["PATH"] ?? "", HOME: cwd } };
  runGit(["init", "-q", "-b", "main", "--template="], place);
  mkdirSync(join(cwd, ".git/hooks"));
  writeFiles({ "a.txt": "one\n", "src/b.txt": "two\n", ".gitignore": "*.log\n/dist/\n" }, cwd);
  runGit(["add", "-A"], place);
  runGit(["commit", "-qm", "first"], place);
  return cwd;
}

const settings = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"];

function runGit(
  args: readonly string[],
  { cwd, environment }: { cwd: string; environment: NodeJS.ProcessEnv },
): string {
  const stdio: StdioOptions = ["ignore", "pipe", "pipe"];
  return execFileSync("git", [...settings, ...args], { cwd, env: environment, encoding: "utf8", stdio }).trimEnd();
}

function writeFiles(files: Files, directory: string): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

function mustSucceed(created: CreatedWorktree): Worktree {
  if (!created.ok) throw new Error(created.message);
  return created.worktree;
}
