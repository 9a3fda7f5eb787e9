import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { bootId, errorCode, processStartTime, writeAtomically } from "../../lib/index.ts";

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
  readonly session?: string;
  readonly agent?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly process: ProcessName;
}

interface ProcessName {
  readonly host: string;
  readonly boot: string | null;
  readonly pid: number;
  /** With the pid it names one process; a pid alone is used again. */
  readonly startTime: number | null;
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
    const record = JSON.parse(readFileSync(recordPath(path), "utf8")) as WorktreeRecord | null;
    return isRecord(record) && record.path === path ? record : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || ["ENOENT", "ENOTDIR", "EISDIR"].includes(errorCode(error) ?? ""))
      return undefined;
    throw error;
  }
}

export async function writeRecord(record: WorktreeRecord): Promise<void> {
  await writeAtomically(recordPath(record.path), `${JSON.stringify(record, null, 2)}\n`);
}

export function thisProcess(): ProcessName {
  return {
    host: hostname(),
    boot: bootId() ?? null,
    pid: process.pid,
    startTime: processStartTime(process.pid) ?? null,
  };
}

/** Somebody is making it or working in it. Of another machine we can't know, so it counts as in use. */
export function isInUse({ state, process: owner }: WorktreeRecord): boolean {
  if (state === "kept") return false;
  if (owner.host !== hostname()) return true;
  const boot = bootId();
  if (boot !== undefined && owner.boot !== null && owner.boot !== boot) return false;
  if (owner.startTime !== null) return processStartTime(owner.pid) === owner.startTime;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

function isRecord(record: WorktreeRecord | null): record is WorktreeRecord {
  if (record?.v !== 1 || !Array.isArray(record.submodules) || typeof record.process?.pid !== "number") return false;
  return [record.state, record.path, record.repository, record.commonDirectory, record.branch, record.base].every(
    (each) => typeof each === "string",
  );
}
