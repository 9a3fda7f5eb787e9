import { lstatSync } from "node:fs";

/** The device and inode of what is at a path, links not followed; undefined: nothing, or nothing that can be looked at. */
export function entryIdentity(path: string): string | undefined {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && `${stat.dev}:${stat.ino}`;
  } catch {
    return undefined;
  }
}
