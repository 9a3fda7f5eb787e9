import { readFileSync } from "node:fs";
import {
  errorCode,
  mayBeRunning,
  type ProcessIdentity,
  parseProcessIdentity,
  writeAtomically,
} from "../../lib/index.ts";

/** What is known of a worktree, in a file beside it: `a1.json` for the directory `a1`. */
export interface WorktreeRecord {
  readonly v: 1;
  /** `creating` until somebody may work in it; `kept` when that agent was done and had changed it. */
  readonly state: "creating" | "ready" | "kept";
  readonly path: string;
  /** The working tree it was made from. */
  readonly repository: string;
  readonly commonDirectory: string;
  /** Of the worktree itself, inside the repository's; absent while it is being created. */
  readonly gitDirectory?: string;
  readonly branch: string;
  readonly base: string;
  readonly includesUncommitted: boolean;
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

/** The index of the worktree as it was handed over: what it is compared with. */
export function baselinePath(path: string): string {
  return `${path}.index`;
}

/** Where a worktree goes whose end was decided: what is found there can be deleted. */
export function trashPath(path: string): string {
  return `${path}.removing`;
}

/** Undefined where there is none, or none that can be read. */
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

/** Whether a process is creating it or working in it. Another machine's can't be checked and counts as in use. */
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
