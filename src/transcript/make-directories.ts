import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode } from "../lib/index.ts";

/**
 * Makes a directory and its missing parents, for the owner only. Gives the directories that have new names in them.
 * Node's own recursive form never returns where the system answers ENOENT below a directory that exists (/proc).
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
    // Another process was quicker.
    if (errorCode(error) !== "EEXIST") throw error;
  }
  return [parent, ...changed];
}
