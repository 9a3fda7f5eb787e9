import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fdatasync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { basename, dirname, isAbsolute } from "node:path";
import { promisify } from "node:util";
import type { FileFailure, FileStat, Workspace } from "../../ports/index.ts";
import { type CheckedDirectory, noFollow, openCheckedDirectory } from "./checked-directory.ts";
import { codeOf, failure, missing, systemFailure, toFileStat } from "./file-stat.ts";
import { hasControls } from "./resolve-path.ts";

type WriteOptions = Parameters<Workspace["write"]>[2] & {
  /** Whether a new file, and the new directories in its path, are accessible only to their owner. */
  readonly isPrivate?: boolean | undefined;
};
type WriteResult = Awaited<ReturnType<Workspace["write"]>>;

const SMALL = 256 * 1024;
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow;
const writeLater = promisify(write);
const syncLater = promisify(fdatasync);

/** Replaces or creates a regular file. Writes nothing if a directory in the path has been replaced with a symlink. */
export async function writeWholeFile(realPath: string, bytes: Uint8Array, options: WriteOptions): Promise<WriteResult> {
  if (!isAbsolute(realPath) || hasControls(realPath) || basename(realPath) === "")
    return failure("invalid_path", `not the path of a file: ${JSON.stringify(realPath)}`);
  const before = targetAt(realPath, realPath);
  // This check comes before directories are created, so that a refused write leaves nothing behind.
  const refusal = refusalFor(before, { realPath, expect: options.expect });
  if (refusal) return refusal;
  const directory = openCheckedDirectory(dirname(realPath), { create: options.isPrivate ? 0o700 : 0o777 });
  if (!directory.ok) return directory;
  try {
    return await replaceWithin(directory, { realPath, bytes, ...options });
  } finally {
    directory.close();
  }
}

interface Replacement extends WriteOptions {
  readonly realPath: string;
  readonly bytes: Uint8Array;
}

async function replaceWithin(directory: CheckedDirectory, request: Replacement): Promise<WriteResult> {
  const name = basename(request.realPath);
  const target = () => targetAt(directory.within(name), request.realPath);
  const before = target();
  const early = refusalFor(before, request);
  if (early) return early;
  const temporary = temporaryName();
  try {
    await writeTemporary(directory.within(temporary), { ...request, before });
    const late = refusalFor(target(), request);
    if (late ?? !directory.isStillThere()) {
      removeQuietly(directory.within(temporary));
      return late ?? failure("moved", `the directory of ${request.realPath} was moved or replaced by a link`);
    }
    renameSync(directory.within(temporary), directory.within(name));
    const after = target();
    return "stat" in after ? { ok: true, stat: after.stat } : after;
  } catch (error) {
    removeQuietly(directory.within(temporary));
    return systemFailure(error, request.realPath);
  }
}

/**
 * Creates the file with the mode and, if permitted, the owner of the file it will replace; the umask applies to a new
 * file.
 */
async function writeTemporary(
  path: string,
  content: Pick<Replacement, "bytes" | "isPrivate"> & { readonly before: Target | FileFailure },
): Promise<void> {
  const descriptor = openSync(path, flags, content.isPrivate ? 0o600 : 0o666);
  try {
    if ("stat" in content.before && content.before.stat.kind === "file") keepAttributes(descriptor, content.before);
    let done = 0;
    while (done < content.bytes.length) {
      const left = content.bytes.length - done;
      if (left <= SMALL) done += writeSync(descriptor, content.bytes, done, left);
      else done += (await writeLater(descriptor, content.bytes, done, left)).bytesWritten;
    }
    await syncLater(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function keepAttributes(descriptor: number, before: Target): void {
  if (before.owner && (before.owner.user !== process.getuid?.() || before.owner.group !== process.getgid?.())) {
    try {
      fchownSync(descriptor, before.owner.user, before.owner.group);
    } catch (error) {
      if (codeOf(error) !== "EPERM") throw error;
    }
  }
  fchmodSync(descriptor, before.stat.mode);
}

interface Target {
  readonly stat: FileStat;
  readonly owner?: { readonly user: number; readonly group: number };
}

/** Examines a file by a path that stays in an open directory. */
export function targetAt(path: string, realPath: string): Target | FileFailure {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (!stats) return { stat: missing };
    return { stat: toFileStat(stats), owner: { user: Number(stats.uid), group: Number(stats.gid) } };
  } catch (error) {
    return systemFailure(error, realPath);
  }
}

/** Returns the reason why a file must not be replaced or deleted; undefined if it may be. */
export function refusalFor(
  target: Target | FileFailure,
  request: { readonly realPath: string; readonly expect?: string | undefined },
): FileFailure | undefined {
  if (!("stat" in target)) return target;
  if (target.stat.kind === "directory") return failure("EISDIR", `${request.realPath}: it is a directory`);
  if (target.stat.kind === "other")
    return failure("not_a_file", `${request.realPath} is a link, device, pipe or socket, not a regular file`);
  if (request.expect !== undefined && request.expect !== target.stat.version) return changed(request.realPath);
  return undefined;
}

function changed(path: string): FileFailure {
  return failure("changed", `${path} has changed since it was read`);
}

function temporaryName(): string {
  return `.retinue-${process.pid}-${Math.random().toString(36).slice(2, 12)}.tmp`;
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The temporary file was never created, or was deleted with its directory.
  }
}
