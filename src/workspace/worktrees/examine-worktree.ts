import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeError, errorCode, plural, UserError } from "../../lib/index.ts";
import { gitDirectoryOf } from "./find-repository.ts";
import { askGit, type Environment, type Git, openGit, pathBelow, pathsOf, runGit, withIndexCopy } from "./git.ts";
import { baselinePath, isInUse, type WorktreeRecord } from "./record.ts";

export type WorktreeState =
  /** The worktree has not changed since it was created. */
  | { readonly kind: "clean" }
  | {
      readonly kind: "changed";
      readonly files: number;
      readonly commits: number;
      /** Other things that would be lost with the worktree. */
      readonly also: readonly string[];
      /** True if only files would be lost with the worktree. */
      readonly onlyFiles?: boolean | undefined;
      /** Tip of the worktree's branch, if other branches or tags contain all its commits. */
      readonly merged?: string | undefined;
    }
  /** The creation of the worktree was interrupted, so it is unused. */
  | { readonly kind: "unfinished" }
  /** The directory of the worktree was deleted. */
  | { readonly kind: "gone"; readonly commits: number }
  /** The original state of the worktree is unknown. */
  | { readonly kind: "orphan"; readonly why: string };

/**
 * Determines what was changed in a worktree, apart from ignored files. Returns `orphan` if that can't be determined.
 * Never throws.
 */
export async function examineWorktree(record: WorktreeRecord, environment: Environment): Promise<WorktreeState> {
  try {
    return await examine(record, environment);
  } catch (error) {
    if (!(error instanceof UserError) && errorCode(error) === undefined) throw error;
    return { kind: "orphan", why: describeError(error) };
  }
}

/** Describes a state in one line for the user, such as `3 files changed, 1 commit`. */
export function describeState(state: WorktreeState): string {
  if (state.kind === "orphan") return `orphan: ${state.why}`;
  if (state.kind === "gone")
    return `directory deleted${state.commits > 0 ? `, ${plural(state.commits, "commit")}` : ""}`;
  if (state.kind !== "changed") return state.kind;
  const { files, commits, also, merged } = state;
  return [
    ...(files > 0 ? [`${plural(files, "file")} changed`] : []),
    ...(commits > 0 ? [plural(commits, "commit")] : []),
    ...also,
    ...(merged === undefined ? [] : ["merged"]),
  ].join(", ");
}

async function examine(record: WorktreeRecord, environment: Environment): Promise<WorktreeState> {
  const { path, repository, gitDirectory } = record;
  if (record.state === "creating" && !isInUse(record)) return { kind: "unfinished" };
  if (!existsSync(path)) return { kind: "gone", commits: await commitsOn(record, environment) };
  if (gitDirectory === undefined) return { kind: "orphan", why: "it is being created" };
  if (!existsSync(gitDirectory))
    return { kind: "orphan", why: `it is no longer registered in the repository ${repository}` };
  if (!existsSync(baselinePath(path))) return { kind: "orphan", why: "the record of its files is missing" };
  const git = await openGit({ environment, cwd: path, workTree: path, gitDirectory });
  const obstacles = obstaclesOf(record, gitDirectory);
  // Git would enter a submodule that contains files, and use its configuration.
  if (obstacles.length > 0) return { kind: "changed", files: 0, commits: 0, also: obstacles };
  const tips = await tipsOf(git, record);
  const [files, commits, dropped, staged] = await Promise.all([
    changedFiles(git, baselinePath(path)),
    ownCommits(git, { record, gitDirectory, tips }),
    droppedCommits(git, { record, gitDirectory, tips }),
    stagedOnly(git, record),
  ]);
  const also = [
    ...(staged > 0 ? [`${plural(staged, "file")} staged`] : []),
    ...(dropped > 0 ? [`${plural(dropped, "commit")} on no branch`] : []),
  ];
  if (files + commits + also.length === 0) return { kind: "clean" };
  const merged = commits > 0 && also.length === 0 && (await isMerged(git, { record, tips }));
  const onlyFiles = commits + dropped === 0;
  return { kind: "changed", files, commits, also, onlyFiles, merged: merged ? tips.at(-1) : undefined };
}

/** Lists conditions that make further examination pointless or unsafe. */
function obstaclesOf({ path, submodules }: WorktreeRecord, gitDirectory: string): string[] {
  const found: string[] = [];
  if (gitDirectoryOf(path) !== gitDirectory) found.push("its .git was replaced");
  if (existsSync(join(gitDirectory, "locked"))) found.push("locked");
  if (underWay.some((name) => existsSync(join(gitDirectory, name)))) found.push("a merge or rebase in progress");
  for (const each of submodules) {
    if (!isEmpty(pathBelow(path, each)))
      found.push(`submodule ${Buffer.from(each, "latin1").toString("utf8")} contains files`);
  }
  return found;
}

const underWay = [
  "MERGE_HEAD",
  "MERGE_AUTOSTASH",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "BISECT_LOG",
  "rebase-merge",
  "rebase-apply",
  "sequencer",
];

function isEmpty(directory: Buffer): boolean {
  try {
    return readdirSync(directory).length === 0;
  } catch (error) {
    return errorCode(error) === "ENOENT";
  }
}

/** Returns the commit at HEAD, and the commit at the tip of the branch if the branch still exists. */
async function tipsOf(git: Git, { branch }: WorktreeRecord): Promise<string[]> {
  const { output, told } = await git.ask(["rev-parse", "HEAD^{commit}", `refs/heads/${branch}^{commit}`]);
  const tips = output
    .toString("latin1")
    .split("\n")
    .filter((line) => /^[0-9a-f]{40,64}$/.test(line));
  if (tips.length === 0) throw new UserError(`HEAD does not name a commit (${told})`, { code: "git" });
  return tips;
}

/** Counts files that differ from an index or are not in it. A nested repository counts as one file. */
async function changedFiles(git: Git, reference: string): Promise<number> {
  return withIndexCopy({ from: reference, beside: git.place.gitDirectory ?? "" }, async (index) => {
    await git.ask(["update-index", "-q", "--ignore-submodules", "--refresh"], { index });
    const [differing, added] = await Promise.all([
      git.run(["diff-files", "-z", "--name-only", "--ignore-submodules=all"], { index }),
      git.run(["ls-files", "-z", "--others", "--exclude-standard"], { index }),
    ]);
    return new Set([...pathsOf(differing), ...pathsOf(added)]).size;
  });
}

interface Commits {
  readonly record: WorktreeRecord;
  readonly gitDirectory: string;
  readonly tips: readonly string[];
}

async function ownCommits(git: Git, { record, gitDirectory, tips }: Commits): Promise<number> {
  const hasRefs = existsSync(join(gitDirectory, "refs", "worktree"));
  if (!hasRefs && tips.every((tip) => tip === record.base)) return 0;
  return countCommits(git, [...tips, "--glob=refs/worktree/*", `^${record.base}`]);
}

async function countCommits(git: Git, revisions: readonly string[]): Promise<number> {
  return Number((await git.run(["rev-list", "--count", ...revisions])).toString("latin1"));
}

/** Counts commits that were created in this worktree and are no longer on a branch, for example after `git reset`. */
async function droppedCommits(git: Git, { record, gitDirectory, tips }: Commits): Promise<number> {
  const log = join(gitDirectory, "logs", "HEAD");
  const text = existsSync(log) ? readFileSync(log, "latin1") : "";
  const seen = new Set([...text.matchAll(/^[0-9a-f]+ ([0-9a-f]{40,64}) /gm)].map(([, commit = ""]) => commit));
  for (const known of [record.base, ...tips]) seen.delete(known);
  if (seen.size === 0) return 0;
  return countCommits(git, ["--ignore-missing", ...seen, "--not", record.base, ...tips, "--glob=refs/*"]);
}

/** Counts files whose content exists only in the worktree's index: neither committed nor part of the original state. */
async function stagedOnly(git: Git, { path }: WorktreeRecord): Promise<number> {
  const fields = pathsOf(
    await git.run(["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD"]),
  );
  const staged: string[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = "", , object = "", status = ""] = fields[at]!.split(" ");
    if (status !== "D") staged.push(`${mode} ${object} 0\t${fields[at + 1]}`);
  }
  if (staged.length === 0) return 0;
  const handedOver = new Set(pathsOf(await git.run(["ls-files", "--stage", "-z"], { index: baselinePath(path) })));
  return staged.filter((entry) => !handedOver.has(entry)).length;
}

interface Merging {
  readonly record: WorktreeRecord;
  readonly tips: readonly string[];
}

/** Returns true if everything is committed, and the commits are on branches or tags that belong to no agent. */
async function isMerged(git: Git, { record, tips }: Merging): Promise<boolean> {
  const [head, branch] = tips;
  if (branch === undefined || head !== branch) return false;
  const others = [`--exclude=${record.branch.replace(/[^/]+$/, "*")}`, "--branches", "--tags"];
  if ((await countCommits(git, [head, "--not", ...others])) > 0) return false;
  const index = join(git.place.gitDirectory ?? "", "index");
  const staged = await git.ask(["diff-index", "--cached", "--quiet", "HEAD"]);
  return staged.code === 0 && (await changedFiles(git, index)) === 0;
}

/** Counts the commits on the branch since it was created; 0 if the branch or the repository no longer exists. */
export async function commitsOn(record: WorktreeRecord, environment: Environment): Promise<number> {
  const { commonDirectory, branch, base } = record;
  if (!existsSync(commonDirectory)) return 0;
  const place = { environment, cwd: commonDirectory, gitDirectory: commonDirectory };
  const tip = await askGit(["rev-parse", "--verify", "--quiet", `refs/heads/${branch}^{commit}`], place);
  if (tip.code !== 0) return 0;
  const count = await runGit(["rev-list", "--count", tip.output.toString("latin1").trim(), `^${base}`], place);
  return Number(count.toString("latin1"));
}
