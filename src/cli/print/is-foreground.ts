import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Whether the terminal's keys go to this process, and not to a shell that started it with `&`. */
export function isForeground(): boolean {
  try {
    const [, , group, , , foreground] = fieldsOf(readFileSync("/proc/self/stat", "latin1"));
    return group === foreground;
  } catch {
    return hasPlus();
  }
}

/** Behind the name of the program, which can have spaces and parentheses: state, parent, group, session, terminal, its group. */
function fieldsOf(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Where there is no /proc: in the state of a process a plus says that it is in the foreground. */
function hasPlus(): boolean {
  try {
    return execFileSync("ps", ["-o", "stat=", "-p", String(process.pid)], { encoding: "utf8" }).includes("+");
  } catch {
    return false;
  }
}
