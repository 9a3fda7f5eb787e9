import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { UserError } from "../../lib/index.ts";
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
  const ask = (...args: string[]): Promise<GitAnswer> => askGit(["rev-parse", ...args], { environment, cwd });
  const facts = await ask("--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir");
  if (facts.code !== 0) throw problemOf(cwd, facts);
  const [isBare, isInside, gitDirectory = "", common = ""] = linesOf(facts);
  if (isBare === "true") throw unfit(`${cwd} is a bare git repository`, "Work in a checkout of it.");
  if (isInside !== "true") throw unfit(`${cwd} is inside the files of git itself`, "Work in the checkout.");
  const [place, commit] = await Promise.all([
    ask("--show-toplevel", "--show-prefix"),
    ask("--verify", "--quiet", "HEAD^{commit}"),
  ]);
  const [root = "", prefix = ""] = linesOf(place);
  if (commit.code !== 0) {
    throw unfit(`The repository ${root} has no commit yet`, "Make one: git commit --allow-empty -m Start.");
  }
  // A configuration can name any directory as the working tree; then the files in it are not the repository's.
  const again = await askGit(["rev-parse", "--absolute-git-dir"], { environment, cwd: root });
  if (again.code !== 0 || linesOf(again)[0] !== gitDirectory || resolve(root, prefix) !== cwd) {
    throw unfit(`The working tree of ${gitDirectory} is set to another directory`, "Unset core.worktree.");
  }
  return {
    root,
    prefix: prefix.replace(/\/$/, ""),
    gitDirectory,
    commonDirectory: realpathSync.native(resolve(cwd, common)),
    head: linesOf(commit)[0] ?? "",
  };
}

/** Where a directory of the repository stands in a worktree of it. */
export function sameDirectoryIn(worktree: string, { prefix }: Pick<Repository, "prefix">): string {
  return prefix === "" ? worktree : join(worktree, prefix);
}

function linesOf({ output }: GitAnswer): string[] {
  return output.toString("utf8").split("\n");
}

function problemOf(cwd: string, { told }: GitAnswer): UserError {
  if (!/not a git repository/i.test(told)) return unfit(told.replace(/^fatal: /, ""));
  const cure = "Make it one and commit (git init, git add, git commit), or use an agent without isolation.";
  return unfit(`${cwd} is not in a git repository, so it can have no worktree`, cure);
}

function unfit(message: string, cure?: string): UserError {
  return new UserError(message, { code: "worktree", ...(cure === undefined ? {} : { cure }) });
}
