import { type BigIntStats, type Dirent, lstatSync, type Stats } from "node:fs";
import type { FileFailure, FileStat } from "../../ports/index.ts";

export const missing: FileStat = { kind: "missing", size: 0, version: "missing", mode: 0 };

/**
 * Examines a path without following symlinks. Symlinks and entries that can't be examined are `other`, not `missing`.
 */
export function statPath(path: string): FileStat {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats ? toFileStat(stats) : missing;
  } catch (error) {
    if (codeOf(error) === "ENOTDIR") return missing;
    return { kind: "other", size: 0, version: `unreadable ${codeOf(error)}`, mode: 0 };
  }
}

export function toFileStat(stats: BigIntStats): FileStat {
  return {
    kind: kindOf(stats),
    size: Number(stats.size),
    version: `${stats.dev}-${stats.ino}-${stats.size}-${stats.mtimeNs}-${stats.ctimeNs}`,
    mode: Number(stats.mode) & 0o7777,
  };
}

export function kindOf(
  stats: Pick<Stats | BigIntStats | Dirent, "isFile" | "isDirectory">,
): "file" | "directory" | "other" {
  if (stats.isFile()) return "file";
  return stats.isDirectory() ? "directory" : "other";
}

/** Identifies a file that has several names (hard links); undefined for any other file. */
export function hardLinkOf(stats: Stats | undefined): string | undefined {
  return stats !== undefined && stats.nlink > 1 && stats.isFile() ? `${stats.dev}:${stats.ino}` : undefined;
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "EUNKNOWN";
}

export function failure(code: string, message: string): FileFailure {
  return { ok: false, code, message };
}

const words: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
  ENOENT: "no such file or directory",
  ENOTDIR: "part of the path is not a directory",
  EISDIR: "it is a directory",
  ELOOP: "it is a symbolic link",
  EMFILE: "too many open files in this process",
  ENFILE: "too many open files on this machine",
  ENAMETOOLONG: "the name is too long",
  EIO: "the disk reported an error",
  EAGAIN: "the operation would block",
  EFBIG: "the file would be too large",
};

/** Converts a system error to a failure with its code. Rethrows any other error, because it is a bug. */
export function systemFailure(error: unknown, path: string): FileFailure {
  const code = codeOf(error);
  if (code === "EUNKNOWN" || code.startsWith("ERR_")) throw error;
  return failure(code, `${path}: ${words[code] ?? (error as Error).message}`);
}
