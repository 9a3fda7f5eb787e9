import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { describeError, errorCode } from "../../lib/index.ts";

export type BoundedRead =
  | { readonly bytes: Uint8Array; readonly complete: boolean }
  | { readonly missing: boolean; readonly problem: string };

const flags = constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0);

/**
 * Returns at most `limit` bytes of a regular file: a pipe in a definitions directory must not block the start. The caller
 * resolves and checks links first. Never throws.
 */
export function readBounded(file: string, limit: number): BoundedRead {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, flags);
    if (slab.length - used < usualSize) startSlab();
    const room = Math.min(slab.length - used, limit + 1);
    const count = readSync(descriptor, slab, used, room, 0);
    // Most definitions fit into one read: a regular file returns less than requested only at its end.
    return count > 0 && count < room ? { bytes: handOut(count), complete: true } : readLong(descriptor, limit);
  } catch (error) {
    // Pipes do not support reading at a position.
    if (errorCode(error) === "ESPIPE") return { missing: false, problem: "It is not a regular file." };
    return { missing: errorCode(error) === "ENOENT", problem: describeError(error) };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const usualSize = 32 * 1024;
const slabSize = 512 * 1024;

/** Definitions are small, numerous and kept in memory, so they share allocations. */
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

/** Returns a hash that identifies this content. */
export function versionOf(bytes: Uint8Array | string): string {
  return hash("sha256", bytes, "hex").slice(0, 32);
}
