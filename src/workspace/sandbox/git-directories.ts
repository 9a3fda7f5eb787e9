import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

export interface GitDirectories {
  /** What git must be able to write for a commit here. */
  readonly writable: readonly string[];
  /** What decides which programs git runs, and parts of other checkouts; some of it may not exist. */
  readonly readOnly: readonly string[];
  /** A file that would make git obey another directory, and that nobody makes here. */
  readonly forbidden: readonly string[];
  /** Where git looks for programs to run by itself. */
  readonly hooks?: string;
}

const none: GitDirectories = { writable: [], readOnly: [], forbidden: [] };

/** The repository around a directory. What a `.git` file says counts only if the repository it names says the same. */
export function gitDirectories(root: string): GitDirectories {
  for (let directory = root; ; directory = dirname(directory)) {
    const place = join(directory, ".git");
    const kind = kindAt(place);
    if (kind === "directory") return ofRepository(place);
    if (kind === "file") return ofWorktree(place);
    if (kind !== undefined || directory === "/") return none;
  }
}

function ofRepository(directory: string): GitDirectories {
  return {
    writable: [directory],
    readOnly: [...within(directory, obeyed), ...within(directory, ["modules", "worktrees"])],
    forbidden: [join(directory, "commondir")],
    hooks: join(directory, "hooks"),
  };
}

/** Files of a git directory by which git finds programs to run. */
const obeyed = ["config", "config.worktree", "hooks", "info"];

function ofWorktree(link: string): GitDirectories {
  const named = firstLine(link)?.match(/^gitdir: (.+)$/)?.[1];
  const own = named === undefined ? undefined : real(resolve(dirname(link), named));
  if (own === undefined || basename(dirname(own)) !== "worktrees") return none;
  const common = dirname(dirname(own));
  const pointsBack = firstLine(join(own, "gitdir"));
  if (pointsBack === undefined || real(pointsBack) !== link || kindAt(join(common, "objects")) !== "directory")
    return none;
  const repository = ofRepository(common);
  return {
    ...repository,
    writable: [common, own],
    readOnly: [...repository.readOnly, link, ...within(own, ["commondir", "gitdir", "config.worktree"])],
  };
}

function within(directory: string, names: readonly string[]): readonly string[] {
  return names.map((name) => join(directory, name));
}

function kindAt(path: string): "directory" | "file" | "other" | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return undefined;
  return stat.isDirectory() ? "directory" : stat.isFile() ? "file" : "other";
}

function firstLine(path: string): string | undefined {
  try {
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
 * Programs that git would run by itself in the repository around a directory, and that are there or as they are only since
 * then (milliseconds since 1970). By the time of the last change, which nobody can set.
 */
export function changedHooks(root: string, since: number): readonly string[] {
  const { hooks } = gitDirectories(root);
  const directory = hooks === undefined ? undefined : lstatSync(hooks, { throwIfNoEntry: false });
  if (hooks === undefined || directory === undefined) return [];
  // Another directory in its place has files that are older than it.
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

/** Git ignores its own examples. */
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
