import { close, closeSync, constants, fstatSync, lstatSync, openSync, read, readSync } from "node:fs";
import { isAbsolute } from "node:path";
import { promisify } from "node:util";
import type { FileFailure, FileStat, Workspace } from "../../ports/index.ts";
import { isOpenedPath, noFollow } from "./checked-directory.ts";
import { failure, kindOf, systemFailure, toFileStat } from "./file-stat.ts";

type ReadOptions = Parameters<Workspace["read"]>[1];
type ReadResult = Awaited<ReturnType<Workspace["read"]>>;

/** Up to this size, a synchronous read is faster than a read in the thread pool. */
const SMALL = 256 * 1024;
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | noFollow;
const readLater = promisify(read);
const closeLater = promisify(close);

/** Reads the whole file or fails; with `offset`, reads at most `maxBytes` bytes from that position. */
export async function readRegularFile(realPath: string, options: ReadOptions): Promise<ReadResult> {
  const opened = openRegularFile(realPath);
  if (!opened.ok) return opened;
  const { descriptor, stat } = opened;
  const offset = options.offset ?? 0;
  const whole = options.offset === undefined;
  if (whole && stat.size > options.maxBytes) {
    closeSync(descriptor);
    return tooLarge(realPath, stat.size, options.maxBytes);
  }
  // One extra byte shows whether a file has grown, or has content even though its reported size is 0 (as in /proc).
  const wanted = Math.min(Math.max(stat.size - offset, 0) + 1, options.maxBytes + (whole ? 1 : 0));
  const window = { descriptor, offset, limit: options.maxBytes + (whole ? 1 : 0) };
  try {
    const bytes = wanted <= SMALL ? readNow(window, wanted) : await readInPool(window, wanted);
    if (whole && bytes.length > options.maxBytes) return tooLarge(realPath, bytes.length, options.maxBytes);
    return { ok: true, bytes, stat };
  } catch (error) {
    return systemFailure(error, realPath);
  } finally {
    if (wanted <= SMALL) closeSync(descriptor);
    else await closeLater(descriptor);
  }
}

type Opened = { readonly ok: true; readonly descriptor: number; readonly stat: FileStat } | FileFailure;

function openRegularFile(realPath: string): Opened {
  if (!isAbsolute(realPath)) return failure("invalid_path", `not an absolute path: ${JSON.stringify(realPath)}`);
  let descriptor: number | undefined;
  try {
    // The path is examined before it is opened, because opening can wake the writer of a FIFO or start a device.
    const named = lstatSync(realPath);
    if (!named.isFile()) return notRegular(realPath, named.isSymbolicLink() ? "link" : kindOf(named));
    descriptor = openSync(realPath, flags);
    const stat = toFileStat(fstatSync(descriptor, { bigint: true }));
    if (stat.kind !== "file") return closed(descriptor, notRegular(realPath, stat.kind));
    if (!isOpenedPath(descriptor, realPath))
      return closed(descriptor, failure("moved", `${realPath} was moved or replaced while it was being opened`));
    return { ok: true, descriptor, stat };
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    return systemFailure(error, realPath);
  }
}

function closed(descriptor: number, result: FileFailure): FileFailure {
  closeSync(descriptor);
  return result;
}

interface Window {
  readonly descriptor: number;
  readonly offset: number;
  readonly limit: number;
}

function readNow(window: Window, wanted: number): Uint8Array {
  let buffer = Buffer.allocUnsafe(wanted);
  let length = 0;
  while (true) {
    const count = readSync(window.descriptor, buffer, length, buffer.length - length, window.offset + length);
    length += count;
    if (count === 0 || length === window.limit) return buffer.subarray(0, length);
    if (length === buffer.length) buffer = grown(buffer, window.limit);
  }
}

async function readInPool(window: Window, wanted: number): Promise<Uint8Array> {
  let buffer = Buffer.allocUnsafe(wanted);
  let length = 0;
  while (true) {
    const position = window.offset + length;
    const { bytesRead } = await readLater(window.descriptor, buffer, length, buffer.length - length, position);
    length += bytesRead;
    if (bytesRead === 0 || length === window.limit) return buffer.subarray(0, length);
    if (length === buffer.length) buffer = grown(buffer, window.limit);
  }
}

function grown(buffer: Buffer, limit: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafe(Math.min(Math.max(buffer.length * 2, 64 * 1024), limit));
  buffer.copy(larger);
  return larger;
}

function notRegular(path: string, kind: string): FileFailure {
  if (kind === "directory") return failure("EISDIR", `${path}: it is a directory`);
  if (kind === "link") return failure("ELOOP", `${path}: it is a symbolic link`);
  return failure("not_a_file", `${path} is a device, pipe or socket, not a regular file`);
}

function tooLarge(path: string, size: number, maxBytes: number): FileFailure {
  return failure("too_large", `${path} has ${size} bytes or more; at most ${maxBytes} can be read at once`);
}
