import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { StartedProcess } from "../../lib/index.ts";

const GRACE_MS = 2_000;

/**
 * Asks what runs in a sandbox to end, and waits a moment. The sandbox's own two processes are not asked: they would go
 * at once, and take everything in it with them before it could put its things in order.
 */
export async function askConfined({ pid, exit, hasExited }: StartedProcess): Promise<void> {
  if (pid === undefined || hasExited) return;
  const inner = childrenOf(pid).flatMap(childrenOf);
  if (inner.length === 0) return;
  for (const each of descendants(inner)) signal(each);
  const patience = new AbortController();
  await Promise.race([exit, wait(GRACE_MS, undefined, { signal: patience.signal }).catch(() => undefined)]);
  patience.abort();
}

function descendants(pids: readonly number[]): readonly number[] {
  return pids.flatMap((pid) => [pid, ...descendants(childrenOf(pid))]);
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended by itself.
  }
}
