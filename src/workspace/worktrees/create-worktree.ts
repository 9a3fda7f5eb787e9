import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeError, errorCode, thisProcess, UserError } from "../../lib/index.ts";
import { type CopiedChanges, copyChanges } from "./copy-changes.ts";
import { commitsOn } from "./examine-worktree.ts";
import { findRepository, gitDirectoryOf, type Repository, sameDirectoryIn } from "./find-repository.ts";
import { copyIndex, type Environment, type Git, openGit, pathsOf, runGit } from "./git.ts";
import { baselinePath, isInUse, readRecord, type WorktreeRecord, writeRecord } from "./record.ts";
import { removeWorktree } from "./remove-worktree.ts";

export interface Worktree {
  readonly path: string;
  readonly branch: string;
  /** Commit that the worktree was created from. */
  readonly base: string;
  /** The requested directory within the worktree: `path`, or a directory below it. */
  readonly directory: string;
}

export interface WorktreeRequest {
  /** Any directory in the repository. */
  readonly repository: string;
  /** Path of the new worktree; its record is stored next to it. */
  readonly directory: string;
  readonly branch: string;
  /** If true, changed, staged and untracked files are copied, but not ignored ones. */
  readonly includeUncommitted: boolean;
  /** If true, the files in the worktree are not needed after its agent has finished; only commits are kept. */
  readonly scratch?: boolean | undefined;
  readonly environment: Environment;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Session and agent that the worktree is for. */
  readonly session?: string | undefined;
  readonly agent?: string | undefined;
}

export type CreatedWorktree =
  | { readonly ok: true; readonly worktree: Worktree }
  | { readonly ok: false; readonly message: string };

/**
 * Creates a git worktree on a new branch, without running hooks or filter programs. If a worktree of the same
 * repository exists at the path, reuses it, or recreates it if its creation was interrupted.
 */
export async function createWorktree(request: WorktreeRequest): Promise<CreatedWorktree> {
  try {
    return { ok: true, worktree: await create(request) };
  } catch (error) {
    if (!(error instanceof UserError) && errorCode(error) === undefined) throw error;
    return { ok: false, message: describeError(error) };
  }
}

async function create(request: WorktreeRequest): Promise<Worktree> {
  const { environment, branch, now, session, agent } = request;
  const repository = await findRepository(request.repository, environment);
  mkdirSync(dirname(request.directory), { recursive: true, mode: 0o700 });
  const path = join(realpathSync.native(dirname(request.directory)), basename(request.directory));
  const earlier = readRecord(path);
  const taken = earlier && (await takeUp(earlier, { repository, environment }));
  if (taken !== undefined) return worktreeOf(taken, repository);
  if (existsSync(path)) throw refusal(`${path} already exists and is not an agent's worktree`, "Move it elsewhere.");
  await mustBeFree(branch, { repository, environment });
  const record: WorktreeRecord = {
    v: 1,
    state: "creating",
    path,
    repository: repository.root,
    commonDirectory: repository.commonDirectory,
    branch,
    base: repository.head,
    includesUncommitted: request.includeUncommitted,
    scratch: request.scratch,
    submodules: [],
    session,
    agent,
    createdAt: now,
    process: thisProcess(),
  };
  await writeRecord(record);
  try {
    return worktreeOf(await fill(record, { repository, environment }), repository);
  } catch (error) {
    await removeWorktree(record, { environment }).catch(() => undefined);
    throw error;
  }
}

interface Surroundings {
  readonly repository: Repository;
  readonly environment: Environment;
}

/**
 * Returns the record of an earlier worktree at the path; undefined if nothing is left of it and it can be recreated.
 */
async function takeUp(record: WorktreeRecord, surroundings: Surroundings): Promise<WorktreeRecord | undefined> {
  const { repository, environment } = surroundings;
  const { path, branch, process: owner } = record;
  if (record.commonDirectory !== repository.commonDirectory) {
    throw refusal(`${path} is a worktree of ${record.repository}`, "Use another directory.");
  }
  const isGone = !existsSync(path);
  if (record.state === "creating" || isGone) {
    if (record.state === "creating" && isInUse(record)) {
      throw refusal(`${path} is being created by process ${owner.pid} on ${owner.host}`, "Wait for it.");
    }
    if (isGone && (await commitsOn(record, environment)) > 0) {
      const fix = `To continue there, run: git -C '${record.repository}' worktree add --force '${path}' '${branch}'.`;
      throw refusal(`The directory ${path} was deleted; the commits made in it are on the branch ${branch}`, fix);
    }
    await removeWorktree(record, { environment });
    return undefined;
  }
  const ready: WorktreeRecord = { ...record, state: "ready", process: thisProcess() };
  await writeRecord(ready);
  return ready;
}

async function mustBeFree(branch: string, { repository, environment }: Surroundings): Promise<void> {
  const { root, gitDirectory } = repository;
  const place = { environment, cwd: root, gitDirectory };
  const above = branch.split("/").map((_, index, all) => all.slice(0, index + 1).join("/"));
  const patterns = above.map((name) => `refs/heads/${name}`);
  const refs = (await runGit(["for-each-ref", "--format=%(refname)", ...patterns], place)).toString("utf8").split("\n");
  const name = above.findLast((each) => refs.includes(`refs/heads/${each}`));
  if (name === undefined) return;
  const git = `git -C '${root}'`;
  if (name !== branch) {
    const fix = `To rename it, run: ${git} branch -m ${name} NAME.`;
    throw refusal(`The repository ${root} has a branch ${name}, so the branch ${branch} can't be created`, fix);
  }
  const fix = `Inspect it (${git} log ${branch}), then delete it (${git} branch -D ${branch}).`;
  throw refusal(`The repository ${root} already has a branch ${branch}, left by an earlier run`, fix);
}

/**
 * Creates the branch and the files. May be interrupted at any point, because the state `creating` in the record shows
 * that the worktree is unused.
 */
async function fill(record: WorktreeRecord, { repository, environment }: Surroundings): Promise<WorktreeRecord> {
  const { path, branch, base } = record;
  const { root, gitDirectory } = repository;
  const place = { environment, cwd: root, gitDirectory, workTree: root };
  const nothing = "0".repeat(base.length);
  await runGit(["update-ref", "-m", "retinue: worktree", `refs/heads/${branch}`, base, nothing], place);
  await runGit(["worktree", "add", "--no-checkout", "--", path, branch], place);
  const own = gitDirectoryOf(path);
  if (own === undefined) throw new Error(`git did not create a worktree in ${path}.`);
  const git = await openGit({ environment, cwd: path, workTree: path, gitDirectory: own });
  await git.run(["read-tree", "--reset", "-u", "--no-recurse-submodules", "HEAD"]);
  const changes = await copyChanges({
    from: await openGit(place),
    to: git,
    includeUncommitted: record.includesUncommitted,
  });
  await mkdir(sameDirectoryIn(path, repository), { recursive: true });
  const ready: WorktreeRecord = {
    ...record,
    state: "ready",
    gitDirectory: own,
    submodules: await keepBaseline(changes, { git, path }),
  };
  await writeRecord(ready);
  return ready;
}

/** Records the current files in a separate index that the agent's git commands do not use. Returns the submodules. */
async function keepBaseline(
  { files, links, removed }: CopiedChanges,
  { git, path }: { readonly git: Git; readonly path: string },
): Promise<readonly string[]> {
  const index = baselinePath(path);
  await copyIndex(join(git.place.gitDirectory ?? "", "index"), index);
  const note = async (paths: readonly string[], ...how: string[]): Promise<void> => {
    const input = paths.map((each) => `${each}\0`).join("");
    if (paths.length > 0) await git.run(["update-index", ...how, "-z", "--stdin"], { index, input });
  };
  await note(removed, "--force-remove");
  // No objects are written for files, because they are only compared and need not be stored in the user's repository.
  // Symlinks do need an object.
  await note(files, "--info-only", "--add", "--replace");
  await note(links, "--add", "--replace");
  const entries = pathsOf(await git.run(["ls-files", "--stage", "-z"], { index }));
  return entries.filter((entry) => entry.startsWith("160000 ")).map((entry) => entry.slice(entry.indexOf("\t") + 1));
}

function worktreeOf({ path, branch, base }: WorktreeRecord, repository: Repository): Worktree {
  return { path, branch, base, directory: sameDirectoryIn(path, repository) };
}

function refusal(message: string, fix: string): UserError {
  return new UserError(message, { code: "worktree", fix });
}
