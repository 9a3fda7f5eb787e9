import { hostname } from "node:os";
import { errorCode } from "../errors.ts";
import { bootId, processStartTime, readProcess } from "./process-info.ts";

/**
 * Identifies one process on one machine, in the form in which it is written to files. Pids are reused; the start time
 * makes the identity unique.
 */
export interface ProcessIdentity {
  readonly host: string;
  /** Id of the machine's current boot; like `startTime`, undefined where there is no /proc. */
  readonly boot?: string | undefined;
  readonly pid: number;
  readonly startTime?: number | undefined;
  /** Pid of the process that created this process's session. Commands started by agents run in their own sessions. */
  readonly session?: number | undefined;
}

export function thisProcess(): ProcessIdentity {
  const { startTime, session } = readProcess(process.pid) ?? {};
  return { host: hostname(), boot: bootId(), pid: process.pid, startTime, session };
}

/** Reads an identity from parsed JSON. Returns undefined if the value does not name a process. */
export function parseProcessIdentity(value: unknown): ProcessIdentity | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { host, boot, pid, startTime, session } = value as Partial<Record<keyof ProcessIdentity, unknown>>;
  if (typeof host !== "string" || typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0) return undefined;
  return {
    host,
    boot: typeof boot === "string" ? boot : undefined,
    pid,
    startTime: typeof startTime === "number" ? startTime : undefined,
    session: typeof session === "number" ? session : undefined,
  };
}

/** Returns false only if the process is known to have ended. A process on another machine can't be checked. */
export function mayBeRunning({ host, boot, pid, startTime }: ProcessIdentity): boolean {
  if (host !== hostname()) return true;
  const bootNow = bootId();
  if (boot !== undefined && bootNow !== undefined && boot !== bootNow) return false;
  const startTimeNow = processStartTime(pid);
  if (startTime !== undefined && startTimeNow !== undefined) return startTime === startTimeNow;
  try {
    process.kill(pid, 0);
    // Where start times can be read, a process without a start time is a zombie.
    return processStartTime(process.pid) === undefined;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}
