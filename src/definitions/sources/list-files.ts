import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { sep } from "node:path";
import { describeError, errorCode, isWithin } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import { realPath, statOf } from "./project-levels.ts";

export interface ListRequest {
  readonly directory: string;
  /** Real path that must contain the files: the project, the user's home, or the plugin. */
  readonly scope: string;
  readonly wanted: (name: string) => boolean;
  /** If true, skips the subfolders of a directory that contains a wanted file. */
  readonly stopAtFound?: boolean | undefined;
}

export interface ListedFile {
  /** Path as listed in the directory. */
  readonly file: string;
  /** Path to open. Differs from `file` only for symlinks. */
  readonly target: string;
}

export interface FileList {
  readonly exists: boolean;
  readonly files: readonly ListedFile[];
  readonly diagnostics: readonly Diagnostic[];
}

const maxDepth = 8;
const maxFiles = 5_000;

/**
 * Lists the wanted files in a directory and its subfolders, sorted by path. Skips dot files, such as those that editors
 * leave behind.
 */
export function listFiles(request: ListRequest): FileList {
  const files: ListedFile[] = [];
  const diagnostics: Diagnostic[] = [];
  const visited = new Set<string>();
  let tooMany = false;
  const real = realPath(request.directory);
  if (!isWithin(real, request.scope)) {
    return { exists: false, files, diagnostics: [outside(request.directory, request.scope)] };
  }
  const exists = visit(request.directory, 0);
  if (tooMany) diagnostics.push(problem(request.directory, "too_many_files", tooManyMessage));
  return { exists, files, diagnostics };

  function visit(directory: string, depth: number): boolean {
    const entries = entriesOf(directory, diagnostics);
    if (!entries) return false;
    const folders: string[] = [];
    let found = false;
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const path = directory + sep + entry.name;
      const kind = entry.isSymbolicLink() ? linkKind(path) : entry.isDirectory() ? "folder" : "file";
      if (kind === "folder") folders.push(path);
      if (kind === "folder" && request.stopAtFound && request.wanted(entry.name)) diagnostics.push(notAFile(path));
      if (kind !== "file" || !request.wanted(entry.name)) continue;
      if (files.length >= maxFiles) {
        tooMany = true;
        return true;
      }
      found = true;
      files.push({ file: path, target: entry.isSymbolicLink() ? realPath(path) : path });
    }
    if (found && request.stopAtFound) return true;
    for (const folder of folders) descend(folder, depth + 1);
    return true;
  }

  function descend(folder: string, depth: number): void {
    if (depth > maxDepth) {
      diagnostics.push(problem(folder, "too_deep", `Directories more than ${maxDepth} levels deep are not read.`));
      return;
    }
    visit(folder, depth);
  }

  /** Returns the kind of a symlink's target. Follows each linked folder only once, so that a cycle of symlinks ends. */
  function linkKind(path: string): "file" | "folder" | "refused" {
    const link = followLink(path, request.scope);
    if ("problem" in link) {
      diagnostics.push(link.problem);
      return "refused";
    }
    if (!link.isFolder) return "file";
    if (visited.has(link.target) || isWithin(real, link.target)) return "refused";
    visited.add(link.target);
    return "folder";
  }
}

type FollowedLink = { readonly target: string; readonly isFolder: boolean } | { readonly problem: Diagnostic };

/** Resolves a symlink, provided that its target is within the scope (a real path). */
export function followLink(path: string, scope: string): FollowedLink {
  const target = realPath(path);
  if (target === path) return { problem: dangling(path) };
  if (!isWithin(target, scope)) return { problem: outside(path, scope) };
  return { target, isFolder: statOf(target)?.isDirectory() === true };
}

const tooManyMessage = `Only the first ${maxFiles} files in this directory are read.`;

function entriesOf(directory: string, diagnostics: Diagnostic[]): Dirent[] | undefined {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    const fault = describeFault(directory, error);
    if (fault !== undefined) diagnostics.push(fault);
    return undefined;
  }
}

/** Describes why a directory can't be listed; undefined if it does not exist, which is not an error. */
function describeFault(directory: string, error: unknown): Diagnostic | undefined {
  const code = errorCode(error);
  if ((code === "ENOENT" || code === "ENOTDIR") && !isThere(directory)) return undefined;
  if (code === "ENOENT") return dangling(directory);
  const fix = "Replace it with a directory that you can read, or remove it.";
  const message = `The directory can't be read: ${describeError(error)}`;
  return { ...problem(directory, "unreadable_directory", message), fix };
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function notAFile(path: string): Diagnostic {
  return { ...problem(path, "not_a_file", "This is a directory; a file is expected."), fix: "Put a file here." };
}

function outside(path: string, scope: string): Diagnostic {
  const message = `This link leads out of ${scope} and is not followed.`;
  return { ...problem(path, "link_outside", message), fix: "Replace it with the file itself." };
}

function dangling(path: string): Diagnostic {
  return { ...problem(path, "link_broken", "This link is broken."), fix: "Remove it, or fix its target." };
}

function problem(file: string, code: string, message: string): Diagnostic {
  return { severity: "error", file, line: 1, code, message };
}
