import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";

/** Number of processes and threads that commands can have at one time. */
export const MAX_PROCESSES = 4_096;

/** A control group that limits the number of processes of all commands in a session. */
export interface ProcessGroup {
  /** File that a process writes to in order to join the group. */
  readonly members: string;
  remove(): void;
}

/**
 * Returns shell code that limits the number of a command's processes, to be run inside the sandbox. Since version 5.14,
 * the kernel counts processes separately for each sandbox; older kernels count all processes of the user, so no limit
 * is set.
 */
export function limitProcesses(most: number, version: string = release()): string {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < 5 || (major === 5 && minor < 14)) return "";
  // The option has a different name in dash.
  return `ulimit -u ${most} 2>/dev/null || ulimit -p ${most} 2>/dev/null`;
}

/**
 * Creates a control group if this process runs as root, because a shell's limit does not apply to root. Returns
 * undefined if no group is needed or none can be created.
 */
export function openProcessGroup(most: number): ProcessGroup | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const groups = ownGroups();
  for (const group of groups) removeAbandoned(group);
  const directory = groups
    .map((group) => join(group, `retinue-${process.pid}-${Date.now()}`))
    .find((group) => isLimited(group, most));
  if (directory === undefined) return undefined;
  return { members: join(directory, "cgroup.procs"), remove: () => removeGroup(directory) };
}

/** Returns the directories of this process's control groups that may limit the number of processes. */
function ownGroups(): readonly string[] {
  try {
    return readFileSync("/proc/self/cgroup", "utf8")
      .split("\n")
      .flatMap((line) => {
        const [, kinds = "", path = ""] = /^\d+:([^:]*):(.+)$/.exec(line) ?? [];
        if (kinds.split(",").includes("pids")) return [join("/sys/fs/cgroup/pids", path)];
        return kinds === "" && path !== "" ? [join("/sys/fs/cgroup", path), join("/sys/fs/cgroup/unified", path)] : [];
      })
      .filter((directory) => existsSync(directory));
  } catch {
    return [];
  }
}

function isLimited(group: string, most: number): boolean {
  try {
    mkdirSync(group);
  } catch {
    return false;
  }
  try {
    if (!existsSync(join(group, "pids.max"))) throw new Error("The group can't limit processes.");
    writeFileSync(join(group, "pids.max"), String(most));
    return true;
  } catch {
    removeGroup(group);
    return false;
  }
}

function removeGroup(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // A process in the group is still exiting. A later session removes the group.
  }
}

/** Removes the groups of Retinue processes that have ended. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = /^retinue-(\d+)-\d+$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeGroup(join(parent, name));
  }
}
