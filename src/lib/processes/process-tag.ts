import { hostname } from "node:os";
import type { ProcessIdentity } from "./process-identity.ts";
import { bootId, type ProcessInfo, readEnvironment, readProcess } from "./process-info.ts";

const variable = "RETINUE_TAG";
const separator = ":";

/**
 * Adds tags to the environment of a new process. Tags that this process itself was started with stay in front, so that
 * a program that ends this process also finds the new one.
 */
export function tagEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  tags: readonly string[],
  inherited = process.env[variable],
): Record<string, string | undefined> {
  if (tags.length === 0 || !tags.every((tag) => /^[\w.-]+$/.test(tag))) {
    throw new Error(`A process tag must consist of letters, digits, ".", "_" and "-", not ${JSON.stringify(tags)}.`);
  }
  const all = new Set([...(inherited ? inherited.split(separator) : []), ...tags]);
  return { ...env, [variable]: [...all].join(separator) };
}

/** Returns true if an environment, in the format of /proc, contains any tag. */
function isTagged(environment: string): boolean {
  return `\0${environment}`.includes(`\0${variable}=`);
}

/**
 * Returns true if an environment contains the tag. The environment has the format of /proc: `NAME=value` entries
 * separated by NUL.
 */
export function carriesTag(environment: string, tag: string): boolean {
  const start = `\0${environment}`.indexOf(`\0${variable}=`);
  if (start < 0) return false;
  const end = environment.indexOf("\0", start);
  const value = environment.slice(start + variable.length + 1, end < 0 ? undefined : end);
  return value.split(separator).includes(tag);
}

/** Describes how this process was started. */
export interface ProcessOrigin {
  /** Pid of the process that created this process's session. */
  readonly session: number;
  readonly hasTerminal: boolean;
  /** True if this process, the leader of its session, or an ancestor of either was started with a tag. */
  readonly isTagged: boolean;
}

/**
 * Returns the origin of this process; undefined where there is no /proc. A process that was started with a tag can hide
 * that only by clearing its environment and outliving its parents.
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

/** Returns the process and its ancestors, except the first process of the system. */
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
 * Returns true if this process belongs to another process's session, even if the other process has ended. Processes
 * that `startProcess` starts, and their children, can't enter the session of the process that started them.
 */
export function isInSessionOf({ host, boot, startTime, session }: ProcessIdentity): boolean {
  const own = readProcess(process.pid)?.session;
  if (own === undefined || session !== own || host !== hostname() || boot !== bootId()) return false;
  const leader = readProcess(own);
  // A leader that started later leads another session with the same number.
  return leader === undefined || startTime === undefined || leader.startTime <= startTime;
}
