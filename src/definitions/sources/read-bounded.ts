import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { describeError, errorCode } from "../../lib/index.ts";

export type BoundedRead =
  | { readonly bytes: Uint8Array; readonly complete: boolean }
  | { readonly missing: boolean; readonly problem: string };

const flags = constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0);

/**
 * The file's bytes, at most `limit` of them. Only regular files: a pipe in a definitions directory must not hold up the
 * start, and a link is resolved and checked by the caller first. Never throws.
 */
export function readBounded(file: string, limit: number): BoundedRead {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, flags);
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { missing: false, problem: "It is not a regular file." };
    return readAll(descriptor, { size: Math.min(stats.size, limit), complete: stats.size <= limit });
  } catch (error) {
    return { missing: errorCode(error) === "ENOENT", problem: describeError(error) };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function readAll(descriptor: number, { size, complete }: { size: number; complete: boolean }): BoundedRead {
  const bytes = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  while (filled < size) {
    const count = readSync(descriptor, bytes, filled, size - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return { bytes: bytes.subarray(0, filled), complete };
}

/** Names one version of a file's bytes. */
export function versionOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 32);
}
