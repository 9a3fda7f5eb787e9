import { hash } from "node:crypto";
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
    if (slab.length - used < usualSize) startSlab();
    const room = Math.min(slab.length - used, limit + 1);
    const count = readSync(descriptor, slab, used, room, 0);
    // Most definitions fit, and then one read tells all: a regular file gives less than asked for only at its end.
    return count > 0 && count < room ? { bytes: handOut(count), complete: true } : readLong(descriptor, limit);
  } catch (error) {
    // A pipe has no positions to read from.
    if (errorCode(error) === "ESPIPE") return { missing: false, problem: "It is not a regular file." };
    return { missing: errorCode(error) === "ENOENT", problem: describeError(error) };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const usualSize = 32 * 1024;
const slabSize = 512 * 1024;

/** Definitions are small, many and kept, so they share allocations; a byte is handed out once. */
let slab = Buffer.alloc(0);
let used = 0;

function startSlab(): void {
  slab = Buffer.allocUnsafeSlow(slabSize);
  used = 0;
}

function handOut(count: number): Uint8Array {
  const start = used;
  used += count;
  return slab.subarray(start, used);
}

function readLong(descriptor: number, limit: number): BoundedRead {
  const stats = fstatSync(descriptor);
  if (!stats.isFile()) return { missing: false, problem: "It is not a regular file." };
  const size = Math.min(stats.size, limit);
  const bytes = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  while (filled < size) {
    const count = readSync(descriptor, bytes, filled, size - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return { bytes: bytes.subarray(0, filled), complete: stats.size <= limit };
}

/** Names one version of a file's bytes. */
export function versionOf(bytes: Uint8Array | string): string {
  return hash("sha256", bytes, "hex").slice(0, 32);
}
