import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { errorCode, UserError } from "../../lib/index.ts";
import { askGit, type Environment, type GitAnswer } from "./git.ts";

export interface Repository {
  /** Of the working tree. */
  readonly root: string;
  /** Where the directory asked about stands in it: `packages/a`, or nothing. */
  readonly prefix: string;
  /** That of the working tree, and the one all working trees share. */
  readonly gitDirectory: string;
  readonly commonDirectory: string;
  /** The commit it stands at. */
  readonly head: string;
}

/** Throws a `UserError` where there is no repository that could have a worktree. */
export async function findRepository(directory: string, environment: Environment): Promise<Repository> {
  const cwd = realpathSync.native(directory);
  // In one call: it answers one after the other, up to the first it can't.
  const args = ["--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir"];
  const place = ["--show-toplevel", "--show-prefix", "HEAD^{commit}"];
  const answer = await askGit(["rev-parse", ...args, ...place], { environment, cwd });
  const [isBare, isInside, gitDirectory, common, root, prefix = "", head = ""] = answer.output
    .toString("utf8")
    .split("\n");
  if (gitDirectory === undefined || common === undefined) throw problemOf(cwd, answer);
  if (isBare === "true") throw unfit(`${cwd} is a bare git repository`, "Work in a checkout of it.");
  if (isInside !== "true") throw unfit(`${cwd} is inside the files of git itself`, "Work in the checkout.");
  // A configuration can name any directory as the working tree; then the files in it are not the repository's.
  if (!root || gitDirectoryOf(root) !== realpathSync.native(gitDirectory) || resolve(root, prefix) !== cwd) {
    throw unfit(`The working tree of ${gitDirectory} is set to another directory`, "Unset core.worktree.");
  }
  if (answer.code !== 0) {
    throw unfit(`The repository ${root} has no commit yet`, "Make one: git commit --allow-empty -m Start.");
  }
  return {
    root,
    prefix: prefix.replace(/\/$/, ""),
    gitDirectory,
    commonDirectory: realpathSync.native(resolve(cwd, common)),
    head,
  };
}

/** What the `.git` of a working tree is or points to, by its real path; undefined where there is none. */
export function gitDirectoryOf(workTree: string): string | undefined {
  const path = join(workTree, ".git");
  try {
    if (lstatSync(path).isFile()) {
      const target = /^gitdir: ([^\n]+)\n?$/.exec(readFileSync(path, "utf8"))?.[1];
      return target === undefined ? undefined : realpathSync.native(resolve(workTree, target));
    }
    return realpathSync.native(path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

/** Where a directory of the repository stands in a worktree of it. */
export function sameDirectoryIn(worktree: string, { prefix }: Pick<Repository, "prefix">): string {
  return prefix === "" ? worktree : join(worktree, prefix);
}

function problemOf(cwd: string, { told }: GitAnswer): UserError {
  if (!/not a git repository/i.test(told)) return unfit(told.replace(/^fatal: /, ""));
  const cure = "Make it one and commit (git init, git add, git commit), or use an agent without isolation.";
  return unfit(`${cwd} is not in a git repository, so it can have no worktree`, cure);
}

function unfit(message: string, cure?: string): UserError {
  return new UserError(message, { code: "worktree", cure });
}
