import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { describeError } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";

/** One byte more than a definition may have, so that the reader can say that it is too large. */
const buffer = Buffer.allocUnsafe(256 * 1024 + 1);

/** Enough of a file to read it as a definition, or to see that it is too large for one; else what is wrong with it. */
export function readStart(
  path: string,
  file: string,
): { readonly bytes: Uint8Array } | { readonly problem: Diagnostic } {
  try {
    // A pipe must not hold anybody up.
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!fstatSync(descriptor).isFile()) throw new Error("It is not a regular file.");
      let length = 0;
      for (;;) {
        const count = readSync(descriptor, buffer, length, buffer.length - length, null);
        if (count === 0) return { bytes: Buffer.from(buffer.subarray(0, length)) };
        length += count;
      }
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const message = `The file can't be read: ${describeError(error)}`;
    const fix = "Make it a file that you can read, or remove it.";
    return { problem: { severity: "error", file, line: 1, code: "unreadable", message, fix } };
  }
}
