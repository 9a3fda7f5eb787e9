import { constants, fstatSync, lstatSync, readlinkSync, realpathSync } from "node:fs";

/** Linux tells the path of an open descriptor, and lets it stand for a directory in another path. */
const descriptors = process.platform === "linux" ? "/proc/self/fd" : undefined;

/**
 * For opening what must not be reached through a link. The system of Apple refuses links anywhere in the path
 * (O_NOFOLLOW_ANY, which Node has no name for), others only at its end: `isOpenedPath` checks the rest.
 */
export const noFollow = process.platform === "darwin" ? 0x2000_0000 : (constants.O_NOFOLLOW ?? 0);

/** True when the descriptor is what `realPath` names and no link was followed on the way, now. */
export function isOpenedPath(descriptor: number, realPath: string): boolean {
  try {
    if (descriptors) return readlinkSync(`${descriptors}/${descriptor}`) === realPath;
    if (realpathSync.native(realPath) !== realPath) return false;
    const opened = fstatSync(descriptor, { bigint: true });
    const named = lstatSync(realPath, { bigint: true });
    return opened.dev === named.dev && opened.ino === named.ino;
  } catch {
    return false;
  }
}

/** A path to `name` in an open directory that stays in it even when its path was swapped for a link. */
export function pathWithin(directory: { readonly descriptor: number; readonly path: string }, name: string): string {
  return descriptors ? `${descriptors}/${directory.descriptor}/${name}` : `${directory.path}/${name}`;
}
