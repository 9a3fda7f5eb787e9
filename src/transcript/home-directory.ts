import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorCode } from "../lib/index.ts";

export type HomeCheck =
  | { readonly ok: true; readonly created: boolean }
  /** `message` also tells the user what to do. */
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Checks whether sessions can be stored in the state directory. Creates the directory if it is missing. */
export function checkHome(home: string): HomeCheck {
  try {
    const created = makeDirectories(home).length > 0;
    const sessions = join(home, "projects");
    for (const directory of [home, sessions]) {
      const stat = statSync(directory, { throwIfNoEntry: false });
      if (stat === undefined) continue;
      if (!stat.isDirectory()) return problem(directory, "ENOTDIR");
      accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    }
    return { ok: true, created };
  } catch (error) {
    return problem(home, errorCode(error) ?? "unknown");
  }
}

const fix = ", or set RETINUE_HOME to another directory.";

function problem(path: string, code: string): HomeCheck {
  const describe =
    messages[code] ?? ((where: string) => `The state directory ${where} can't be used (${code}). Repair it`);
  return { ok: false, code, message: `${describe(path)}${fix}` };
}

const messages: Readonly<Record<string, (path: string) => string>> = {
  EEXIST: (path) => `The state directory ${path} is not a directory. Move the file elsewhere`,
  ENOTDIR: (path) =>
    `The state directory ${path} is not a directory, or a part of its path is a file. Move the file elsewhere`,
  EACCES: (path) => `You can't write to the state directory ${path}. Change its owner or mode (chown, chmod u+rwx)`,
  EPERM: (path) => `You can't write to the state directory ${path}. Change its owner or mode (chown, chmod u+rwx)`,
  EROFS: (path) => `The state directory ${path} is on a read-only file system. Remount it writable`,
  ENOSPC: (path) => `The disk that contains the state directory ${path} is full. Free some space`,
  ELOOP: (path) => `The state directory ${path} is a symbolic link that leads back to itself. Repair it`,
};

/**
 * Creates a directory and its missing parents, accessible only to the owner. Returns the directories that got new
 * entries. Does not use Node's recursive mkdir, which never returns if the system reports ENOENT under an existing
 * directory, as in /proc.
 */
export function makeDirectories(path: string): string[] {
  const parent = dirname(path);
  try {
    mkdirSync(path, { mode: 0o700 });
    return [parent];
  } catch (error) {
    if (errorCode(error) === "EEXIST") return [];
    if (errorCode(error) !== "ENOENT" || parent === path) throw error;
  }
  const changed = makeDirectories(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process created the directory first.
    if (errorCode(error) !== "EEXIST") throw error;
  }
  return [parent, ...changed];
}
