import { hostname } from "node:os";
import type { ProcessIdentity } from "./process-identity.ts";
import { bootId, type ProcessInfo, readEnvironment, readProcess } from "./process-info.ts";
import { isTagged } from "./process-tag.ts";

/** Describes where this process comes from. */
export interface ProcessOrigin {
  /** Pid of the process that created the session of this process. */
  readonly session: number;
  readonly hasTerminal: boolean;
  /** True if this process, or one that it or its terminal was started by, was started with a tag. */
  readonly isTagged: boolean;
}

/**
 * Returns the origin of this process; undefined where there is no /proc. A process that was started with a tag can hide
 * that: it must clear its environment and outlive its parents.
 */
export function processOrigin(): ProcessOrigin | undefined {
  const self = readProcess(process.pid);
  if (self === undefined) return undefined;
  const { session, terminal } = self;
  const leader = readProcess(session);
  const starters = [...withParents(self), ...(leader === undefined ? [] : withParents(leader))];
  const areTagged = starters.some(({ pid }) => isTagged(readEnvironment(pid) ?? ""));
  return { session, hasTerminal: terminal !== 0, isTagged: areTagged };
}

/** Returns the process and those that it descends from, except the first process of the system. */
function withParents(info: ProcessInfo): readonly ProcessInfo[] {
  const chain: ProcessInfo[] = [];
  for (let next: ProcessInfo | undefined = info; next !== undefined && next.pid > 1; ) {
    chain.push(next);
    const parent = readProcess(next.parent);
    // A parent that started later is another process with the same pid.
    next = parent !== undefined && parent.startTime <= next.startTime ? parent : undefined;
  }
  return chain;
}

/**
 * Returns true if this process belongs to the same session as another process, which may have ended. Processes that
 * `startProcess` starts, and their children, can't enter the session of their starter.
 */
export function isInSessionOf({ host, boot, startTime, session }: ProcessIdentity): boolean {
  const own = readProcess(process.pid)?.session;
  if (own === undefined || session !== own || host !== hostname() || boot !== bootId()) return false;
  const leader = readProcess(own);
  // A leader that started later leads another session with the same number.
  return leader === undefined || startTime === undefined || leader.startTime <= startTime;
}
