import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { errorCode, UserError } from "../../lib/index.ts";
import { askGit, type Environment, type GitAnswer } from "./git.ts";

export interface Repository {
  /** Root of the working tree. */
  readonly root: string;
  /** Path of the requested directory within the root, such as `packages/a`; may be empty. */
  readonly prefix: string;
  /** Git directory of this working tree; `commonDirectory` is shared by all working trees. */
  readonly gitDirectory: string;
  readonly commonDirectory: string;
  /** Current commit. */
  readonly head: string;
}

/** Finds the repository that contains a directory. Throws a `UserError` if there is none that supports worktrees. */
export async function findRepository(directory: string, environment: Environment): Promise<Repository> {
  const cwd = realpathSync.native(directory);
  // One call is enough: git answers the questions in order, up to the first one that fails.
  const args = ["--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir"];
  const place = ["--show-toplevel", "--show-prefix", "HEAD^{commit}"];
  const answer = await askGit(["rev-parse", ...args, ...place], { environment, cwd });
  const [isBare, isInside, gitDirectory, common, root, prefix = "", head = ""] = answer.output
    .toString("utf8")
    .split("\n");
  if (gitDirectory === undefined || common === undefined) throw problemOf(cwd, answer);
  if (isBare === "true") throw unfit(`${cwd} is a bare git repository`, "Work in one of its checkouts.");
  if (isInside !== "true") throw unfit(`${cwd} is inside a .git directory`, "Work in the checkout.");
  // The configuration can set any directory as the working tree, whose files then do not belong to the repository.
  if (!root || gitDirectoryOf(root) !== realpathSync.native(gitDirectory) || resolve(root, prefix) !== cwd) {
    throw unfit(`The working tree of ${gitDirectory} is set to another directory`, "Unset core.worktree.");
  }
  if (answer.code !== 0) {
    throw unfit(`The repository ${root} has no commits yet`, "To create one, run: git commit --allow-empty -m Start.");
  }
  return {
    root,
    prefix: prefix.replace(/\/$/, ""),
    gitDirectory,
    commonDirectory: realpathSync.native(resolve(cwd, common)),
    head,
  };
}

/** Returns the real path of the git directory that a working tree's `.git` is or points to. */
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

/** Returns the path of the requested directory within a worktree. */
export function sameDirectoryIn(worktree: string, { prefix }: Pick<Repository, "prefix">): string {
  return prefix === "" ? worktree : join(worktree, prefix);
}

function problemOf(cwd: string, { told }: GitAnswer): UserError {
  if (!/not a git repository/i.test(told)) return unfit(told.replace(/^fatal: /, ""));
  const fix =
    "Create a repository and commit your files (git init, git add, git commit), or use an agent without isolation.";
  return unfit(`${cwd} is not in a git repository, so it can't have a worktree`, fix);
}

function unfit(message: string, fix?: string): UserError {
  return new UserError(message, { code: "worktree", fix });
}
