import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

export interface ProcessInfo {
  pid: number;
  parent: number;
  group: number;
  /** Pid of the process that created this process's session. */
  session: number;
  /** Number of the controlling terminal; 0 if there is none. */
  terminal: number;
  /**
   * Start time in clock ticks since boot. Together with the pid, it identifies a process until the machine restarts.
   */
  startTime: number;
}

/**
 * Returns the start time of a process, which distinguishes the process from a later one with the same pid. Returns
 * undefined if the process has ended (zombies included) or where there is no /proc.
 */
export function processStartTime(pid: number): number | undefined {
  return readProcess(pid)?.startTime;
}

/** Returns an id that changes whenever the machine boots; undefined where there is no /proc. */
export function bootId(): string | undefined {
  return readText("/proc/sys/kernel/random/boot_id")?.trim();
}

/** Reads the state of a process. Returns undefined if the process has ended, zombies included. */
export function readProcess(pid: number): ProcessInfo | undefined {
  const stat = readShort(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may contain anything, including parentheses and spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  const startTime = Number(fields[19]);
  if (!Number.isFinite(startTime)) return undefined;
  const [, parent, group, session, terminal] = fields.map(Number) as [number, number, number, number, number];
  return { pid, parent, group, session, terminal, startTime };
}

/** Lists all pids; undefined where there is no /proc. */
export function listPids(): number[] | undefined {
  try {
    const pids: number[] = [];
    for (const name of readdirSync("/proc")) if (/^\d+$/.test(name)) pids.push(Number(name));
    return pids.length > 0 ? pids : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the environment of a process; undefined for other users' processes, which this process can't end anyway. */
export function readEnvironment(pid: number): string | undefined {
  return readText(`/proc/${pid}/environ`);
}

/**
 * Reads a short file with half as many system calls as `readFileSync`, because a sweep reads every process on the
 * machine.
 */
function readShort(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, "r");
    const buffer = Buffer.allocUnsafe(2048);
    return buffer.toString("latin1", 0, readSync(descriptor, buffer));
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

/** Returns the number of files and sockets that this process may have open; infinite if unknown. */
export function descriptorLimit(): number {
  try {
    const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]);
    return Number.isFinite(limit) ? limit : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
