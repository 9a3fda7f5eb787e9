import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { describeError, errorCode } from "../../lib/index.ts";

export type BoundedRead =
  | { readonly bytes: Uint8Array; readonly complete: boolean }
  | { readonly missing: boolean; readonly problem: string };

const flags = constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0);

/**
 * Returns at most `limit` bytes of a regular file. Other files are refused, because a pipe in a definitions directory
 * must not block startup. The caller must resolve and check symlinks first. Never throws.
 */
export function readBounded(file: string, limit: number): BoundedRead {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, flags);
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { missing: false, problem: "It is not a regular file." };
    const bytes = Buffer.allocUnsafeSlow(Math.min(stats.size, limit));
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(descriptor, bytes, filled, bytes.length - filled, filled);
      if (count === 0) break;
      filled += count;
    }
    return { bytes: bytes.subarray(0, filled), complete: stats.size <= limit };
  } catch (error) {
    return { missing: errorCode(error) === "ENOENT", problem: describeError(error) };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Returns a hash that identifies the content. */
export function versionOf(bytes: Uint8Array | string): string {
  return hash("sha256", bytes, "hex").slice(0, 32);
}
