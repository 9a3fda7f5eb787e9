import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

export interface GitDirectories {
  /** Top directory of the working tree. */
  readonly tree?: string;
  /** Paths that git must be able to write in order to commit. */
  readonly writable: readonly string[];
  /**
   * Paths that commands must not change: those that determine which programs git runs, and those that belong to
   * submodules and worktrees. Some of them may not exist.
   */
  readonly readOnly: readonly string[];
  /** The read-only paths that determine which programs git runs. */
  readonly obeyed: readonly string[];
  /** Files that would redirect git to another directory, and that git itself never creates here. */
  readonly forbidden: readonly string[];
  /** Directory of git's hooks. */
  readonly hooks?: string;
}

export const noRepository: GitDirectories = { writable: [], readOnly: [], obeyed: [], forbidden: [] };

/**
 * Finds the repository that contains a directory. A `.git` file is trusted only if the repository refers back to it.
 */
export function gitDirectories(root: string): GitDirectories {
  for (let directory = root; ; directory = dirname(directory)) {
    const place = join(directory, ".git");
    const kind = kindAt(place);
    if (kind === "directory") return { ...ofRepository(place), tree: directory };
    if (kind === "file") return ofWorktree(place) ?? { ...noRepository, readOnly: [place] };
    if (kind === "link") return ofLink(place);
    if (kind !== undefined || directory === "/") return noRepository;
  }
}

function ofRepository(directory: string): GitDirectories {
  return {
    writable: [directory],
    readOnly: [...within(directory, obeyed), ...within(directory, ["modules", "worktrees"])],
    obeyed: within(directory, obeyed),
    forbidden: [join(directory, "commondir")],
    hooks: join(directory, "hooks"),
  };
}

/** Entries of a git directory that determine which programs git runs. The last two name remotes. */
const obeyed = ["config", "config.worktree", "hooks", "info", "remotes", "branches"];

/** A symlink may lead to any repository, so it does not make a repository writable. */
function ofLink(link: string): GitDirectories {
  const target = real(link);
  return target === undefined || kindAt(target) !== "directory"
    ? noRepository
    : { ...ofRepository(target), writable: [] };
}

/** Returns undefined if the repository does not refer back to the file. */
function ofWorktree(link: string): GitDirectories | undefined {
  const named = firstLine(link)?.match(/^gitdir: (.+)$/)?.[1];
  const own = named === undefined ? undefined : real(resolve(dirname(link), named));
  if (own === undefined || basename(dirname(own)) !== "worktrees") return undefined;
  const common = dirname(dirname(own));
  const pointsBack = firstLine(join(own, "gitdir"));
  if (pointsBack === undefined || real(pointsBack) !== link || kindAt(join(common, "objects")) !== "directory")
    return undefined;
  const repository = ofRepository(common);
  return {
    ...repository,
    tree: dirname(link),
    writable: [common, own],
    readOnly: [...repository.readOnly, link, ...within(own, ["commondir", "gitdir", "config.worktree"])],
    obeyed: [...repository.obeyed, join(own, "config.worktree")],
  };
}

function within(directory: string, names: readonly string[]): readonly string[] {
  return names.map((name) => join(directory, name));
}

function kindAt(path: string): "directory" | "file" | "link" | "other" | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if (stat.isSymbolicLink()) return "link";
  return stat.isDirectory() ? "directory" : stat.isFile() ? "file" : "other";
}

/**
 * Maximum size of a file that contains a path; larger than any path. Reading a pipe or a huge file would block Retinue.
 */
const LONGEST_LINK = 16 * 1024;

function firstLine(path: string): string | undefined {
  try {
    const stat = lstatSync(path);
    if (!stat.isFile() || stat.size > LONGEST_LINK) return undefined;
    return readFileSync(path, "utf8").split("\n", 1)[0];
  } catch {
    return undefined;
  }
}

function real(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/**
 * Lists the git hooks in the repository that were created or changed after a given time (milliseconds since 1970). Uses
 * the time of the last status change, because programs can't set it.
 */
export function changedHooks(root: string, since: number): readonly string[] {
  const { hooks } = gitDirectories(root);
  const directory = hooks === undefined ? undefined : lstatSync(hooks, { throwIfNoEntry: false });
  if (hooks === undefined || directory === undefined) return [];
  // If the directory itself was replaced, its files may have older times.
  const isOther = isSince(directory, since);
  return namesIn(hooks)
    .map((name) => join(hooks, name))
    .filter((path) => {
      const own = lstatSync(path, { throwIfNoEntry: false });
      const target = statSync(path, { throwIfNoEntry: false });
      if (own === undefined || target === undefined || !target.isFile() || (target.mode & 0o111) === 0) return false;
      return isOther || isSince(own, since) || isSince(target, since);
    });
}

/** Lists the entries of a directory, except the sample hooks, which git ignores. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => !name.endsWith(".sample"));
  } catch {
    return [];
  }
}

function isSince({ ctimeMs }: Stats, since: number): boolean {
  return ctimeMs > since;
}
