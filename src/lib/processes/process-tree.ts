import { setTimeout as wait } from "node:timers/promises";
import { errorCode } from "../errors.ts";
import { listPids, type ProcessInfo, readEnvironment, readProcess } from "./process-info.ts";
import { carriesTag } from "./process-tag.ts";
import type { StartedProcess } from "./start-process.ts";

/**
 * Ends a process and everything it started: sends SIGTERM to the group and to all processes with the tag, waits up to
 * `graceMs`, kills them, and repeats until none is left. Also finds processes that left the group (setsid, double
 * fork). Where there is no /proc, ends only the group. Never throws; returns the pids of the processes that ended.
 */
export async function endProcessTree(
  handle: Pick<StartedProcess, "pid" | "startTime" | "tag" | "exit">,
  { graceMs = GRACE_MS }: { graceMs?: number } = {},
): Promise<number[]> {
  const { pid, startTime, tag } = handle;
  if (pid === undefined) return [];
  if (listPids() === undefined) return endGroup(pid, { graceMs });

  const find = () => findTree({ tag, root: { pid, startTime } });
  let { found: asked, isUnclear } = find();
  for (let look = 0; asked.length === 0 && isUnclear && look < unclearLooks; look++) {
    await wait(pollMs);
    ({ found: asked, isUnclear } = find());
  }
  if (asked.length === 0) return [];
  signalAll(asked, { signal: "SIGTERM", group: pid });
  await untilGone(asked, graceMs);
  const killed = await killAll(find, pid);
  const gone = goneOf([...asked, ...killed]);
  // The system may show the process as ended shortly before Node reports its exit.
  if (gone.includes(pid)) await handle.exit;
  return gone;
}

/**
 * Kills every process with the tag, including those that an earlier run of the program left behind. Returns the pids of
 * the processes that ended.
 */
export async function sweepTagged(tag: string): Promise<number[]> {
  return goneOf(await killAll(() => findTree({ tag })));
}

/** A run that reaches a time limit must be over, with all its processes, within 2 seconds. */
const GRACE_MS = 1_500;

const pollMs = 10;
const unclearLooks = 3;
const killRounds = 60;

/**
 * Kills the processes that `find` returns until none is left, because they may fork while being killed. Skips processes
 * that can't be killed.
 */
async function killAll(find: () => Finding, group?: number): Promise<ProcessInfo[]> {
  const seen = new Map<number, ProcessInfo>();
  const refused = new Set<number>();
  let clean = false;
  for (let round = 1; round <= killRounds; round++) {
    const found = find().found.filter((info) => !refused.has(info.pid));
    for (const info of found) seen.set(info.pid, info);
    for (const pid of signalAll(found, { signal: "SIGKILL", group })) refused.add(pid);
    // A process may be hidden during exec, so a single empty result after a kill is not enough.
    if (found.length === 0 && (clean || seen.size === 0)) break;
    clean = found.length === 0;
    await wait(Math.min(round * 5, 50));
  }
  return [...seen.values()];
}

interface Tree {
  tag: string;
  root?: { pid: number; startTime: number | undefined };
}

interface Finding {
  found: ProcessInfo[];
  /** True if a process has an empty environment, as during exec, and may therefore belong to the tree. */
  isUnclear: boolean;
}

function findTree({ tag, root }: Tree): Finding {
  const all = readAll();
  // After the root has ended, another process may have its pid and lead a group with that number.
  const namesake = root && all.get(root.pid);
  const group = namesake && namesake.startTime !== root?.startTime ? undefined : root?.pid;
  // Skip older processes: they can't descend from the root, and reading environments is slow.
  const since = root?.startTime ?? 0;
  // Exclude this process, which may itself have the tag, and its other children.
  all.delete(process.pid);
  const found = new Map<number, ProcessInfo>();
  let isUnclear = false;
  for (const info of all.values()) {
    const environment = info.startTime >= since ? readEnvironment(info.pid) : undefined;
    if (environment === "" && info.parent !== kernelThreads) isUnclear = true;
    if (info.group === group || (environment !== undefined && carriesTag(environment, tag))) found.set(info.pid, info);
  }
  addDescendants(found, all);
  return { found: [...found.values()], isUnclear };
}

/** Pid of the parent of all kernel threads. Kernel threads have no environment. */
const kernelThreads = 2;

/**
 * Adds children that were started with a cleared environment, which can be found only while their parents are alive.
 */
function addDescendants(found: Map<number, ProcessInfo>, all: ReadonlyMap<number, ProcessInfo>): void {
  if (found.size === 0) return;
  let before = -1;
  while (found.size > before) {
    before = found.size;
    for (const info of all.values()) if (found.has(info.parent)) found.set(info.pid, info);
  }
}

function readAll(): Map<number, ProcessInfo> {
  const all = new Map<number, ProcessInfo>();
  for (const pid of listPids() ?? []) {
    const info = readProcess(pid);
    if (info) all.set(pid, info);
  }
  return all;
}

async function untilGone(processes: readonly ProcessInfo[], graceMs: number): Promise<void> {
  const deadline = performance.now() + graceMs;
  while (processes.some(isAlive) && performance.now() < deadline) await wait(pollMs);
}

function isAlive(info: ProcessInfo): boolean {
  return readProcess(info.pid)?.startTime === info.startTime;
}

function goneOf(processes: readonly ProcessInfo[]): number[] {
  const pids = new Set<number>();
  for (const info of processes) if (!isAlive(info)) pids.add(info.pid);
  return [...pids];
}

/** Signals the processes. Returns the pids that could not be signaled for lack of permission. */
function signalAll(
  processes: readonly ProcessInfo[],
  { signal, group }: { signal: NodeJS.Signals; group: number | undefined },
): number[] {
  // Signal the whole group at once, so that none of its processes can fork between two signals.
  if (group !== undefined && processes.some((info) => info.group === group)) send(-group, signal);
  return processes
    .filter((info) => info.group !== group && isAlive(info) && send(info.pid, signal) === "EPERM")
    .map((info) => info.pid);
}

/** Sends a signal. Returns the system's error code if the signal was not delivered. */
function send(pid: number, signal: NodeJS.Signals | 0): string | undefined {
  try {
    process.kill(pid, signal);
    return undefined;
  } catch (error) {
    return errorCode(error) ?? "unknown";
  }
}

async function endGroup(group: number, { graceMs }: { graceMs: number }): Promise<number[]> {
  if (send(-group, "SIGTERM")) return [];
  const deadline = performance.now() + graceMs;
  while (!send(-group, 0) && performance.now() < deadline) await wait(pollMs);
  send(-group, "SIGKILL");
  return [group];
}
