import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

export interface ProcessInfo {
  pid: number;
  parent: number;
  group: number;
  /** Clock ticks since boot; together with the pid it names one process for as long as the machine runs. */
  startTime: number;
}

/**
 * When a process started, for telling an owner from a stranger with the same pid.
 * Undefined when it has ended (also if nobody has collected it yet) or where there is no /proc.
 */
export function processStartTime(pid: number): number | undefined {
  return readProcess(pid)?.startTime;
}

/** Changes with every boot of the machine; undefined where there is no /proc. */
export function bootId(): string | undefined {
  return readText("/proc/sys/kernel/random/boot_id")?.trim();
}

/** A living process; zombies count as gone. */
export function readProcess(pid: number): ProcessInfo | undefined {
  const stat = readShort(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in brackets may hold anything, also brackets and spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  const startTime = Number(fields[19]);
  if (!Number.isFinite(startTime)) return undefined;
  return { pid, parent: Number(fields[1]), group: Number(fields[2]), startTime };
}

/** Every pid there is; undefined where there is no /proc. */
export function listPids(): number[] | undefined {
  try {
    const pids: number[] = [];
    for (const name of readdirSync("/proc")) if (/^\d+$/.test(name)) pids.push(Number(name));
    return pids.length > 0 ? pids : undefined;
  } catch {
    return undefined;
  }
}

/** Readable only for our own user; undefined for others, which are then not ours to end either. */
export function readEnvironment(pid: number): string | undefined {
  return readText(`/proc/${pid}/environ`);
}

/** A sweep looks at every process there is: `readFileSync` would cost twice the system calls. */
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
