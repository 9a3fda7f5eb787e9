import { chmodSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { chmod, lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../errors.ts";

/**
 * Deletes a directory tree, including directories that their owner can't read or write, such as those in package caches.
 * Does nothing if there is no tree.
 */
export async function deleteTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    await makeAccessible(path);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Does the same as `deleteTree`, but synchronously. */
export function deleteTreeSync(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    makeAccessibleSync(path);
    rmSync(path, { recursive: true, force: true });
  }
}

function isForbidden(error: unknown): boolean {
  return ["EACCES", "EPERM", "ENOTEMPTY"].includes(errorCode(error) ?? "");
}

async function makeAccessible(directory: string): Promise<void> {
  try {
    if (!(await lstat(directory)).isDirectory()) return;
    await chmod(directory, 0o700);
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (entry.isDirectory()) await makeAccessible(join(directory, entry.name));
    }
  } catch (error) {
    // After its first error, Node keeps deleting for a moment.
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

function makeAccessibleSync(directory: string): void {
  if (!lstatSync(directory).isDirectory()) return;
  chmodSync(directory, 0o700);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) makeAccessibleSync(join(directory, entry.name));
  }
}
