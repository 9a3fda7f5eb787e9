import { readFileSync } from "node:fs";
import {
  errorCode,
  mayBeRunning,
  type ProcessIdentity,
  parseProcessIdentity,
  writeAtomically,
} from "../../lib/index.ts";

/** Record of a worktree, stored in a file next to it: `a1.json` for the directory `a1`. */
export interface WorktreeRecord {
  readonly v: 1;
  /** `creating` until the worktree can be used; `kept` after its agent has finished and left changes. */
  readonly state: "creating" | "ready" | "kept";
  readonly path: string;
  /** Working tree that the worktree was created from. */
  readonly repository: string;
  readonly commonDirectory: string;
  /** Git directory of the worktree, inside that of the repository; absent while the worktree is being created. */
  readonly gitDirectory?: string;
  readonly branch: string;
  readonly base: string;
  readonly includesUncommitted: boolean;
  /** True if only commits in the worktree are kept, not changed files. */
  readonly scratch?: boolean | undefined;
  readonly submodules: readonly string[];
  readonly session?: string | undefined;
  readonly agent?: string | undefined;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly process: ProcessIdentity;
}

export function recordPath(path: string): string {
  return `${path}.json`;
}

/** Path of the index that records the original state of the worktree. */
export function baselinePath(path: string): string {
  return `${path}.index`;
}

/** Path to which a worktree is moved before it is deleted; anything there can be deleted. */
export function trashPath(path: string): string {
  return `${path}.removing`;
}

/** Reads the record of a worktree. Returns undefined if the record is missing or invalid. */
export function readRecord(path: string): WorktreeRecord | undefined {
  try {
    const record = parseRecord(readFileSync(recordPath(path), "utf8"));
    return record?.path === path ? record : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || ["ENOENT", "ENOTDIR", "EISDIR"].includes(errorCode(error) ?? ""))
      return undefined;
    throw error;
  }
}

export async function writeRecord(record: WorktreeRecord): Promise<void> {
  await writeAtomically(recordPath(record.path), `${JSON.stringify(record, null, 2)}\n`);
}

/**
 * Returns true if a process is creating the worktree or working in it. A process on another machine can't be checked
 * and is assumed to be running.
 */
export function isInUse({ state, process: owner }: WorktreeRecord): boolean {
  return state !== "kept" && mayBeRunning(owner);
}

function parseRecord(text: string): WorktreeRecord | undefined {
  const record = JSON.parse(text) as WorktreeRecord | null;
  const owner = parseProcessIdentity(record?.process);
  if (record?.v !== 1 || owner === undefined || !Array.isArray(record.submodules)) return undefined;
  const { state, path, repository, commonDirectory, branch, base } = record;
  const texts = [state, path, repository, commonDirectory, branch, base];
  return texts.every((each) => typeof each === "string") ? { ...record, process: owner } : undefined;
}
