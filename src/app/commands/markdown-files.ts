import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { basename, join } from "node:path";
import { followLink, projectLevels } from "../../definitions/index.ts";
import { describeError, errorCode, homeDirectory, isWithin, UserError } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";

export interface MarkdownFile {
  readonly path: string;
  /** Path for messages, relative to the given directory. */
  readonly file: string;
  /** Set for a symlink that is not followed. */
  readonly problem?: Diagnostic;
}

/**
 * Yields the given file, or every Markdown file under the given directory, in a stable order. Symlinks are followed as
 * when agents are loaded: within the project, or within the home directory for the user's own directories. Skips `.git`
 * and `node_modules`. A directory that can't be listed is yielded as if it were a file, so that reading it reports the
 * reason.
 */
export function* markdownFiles(given: string, prefix = ""): Generator<MarkdownFile> {
  if (!statOf(given).isDirectory()) {
    yield { path: given, file: given };
    return;
  }
  const real = realpathSync(given);
  yield* filesBelow(given, prefix, { real, scope: linkScope(real), followed: new Set() });
}

interface Walk {
  /** Real path of the given directory. */
  readonly real: string;
  /** Directory that symlinks must stay within. */
  readonly scope: string;
  /** Linked directories visited so far. Each directory is visited only once, so that symlink loops end. */
  readonly followed: Set<string>;
}

function* filesBelow(directory: string, prefix: string, walk: Walk): Generator<MarkdownFile> {
  const entries = listEntries(directory);
  if (entries === undefined) {
    yield { path: directory, file: prefix === "" ? directory : prefix };
    return;
  }
  for (const entry of entries) {
    const path = join(directory, entry.name);
    const file = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    const kind = kindOf(entry, { path, walk });
    if (kind === "folder" && !isSkill(entry.name)) {
      if (entry.name !== ".git" && entry.name !== "node_modules") yield* filesBelow(path, file, walk);
    } else if (kind !== "gone" && /\.(md|markdown)$/i.test(entry.name)) {
      yield typeof kind === "string" ? { path, file } : { path, file, problem: { ...kind, file } };
    }
  }
}

function kindOf(
  entry: Dirent,
  { path, walk }: { readonly path: string; readonly walk: Walk },
): "file" | "folder" | "gone" | Diagnostic {
  // Some file systems do not report the type of an entry.
  const known = entry.isFile() || entry.isDirectory() ? entry : lstatIfPresent(path);
  if (known === undefined) return "gone";
  if (!known.isSymbolicLink()) return known.isDirectory() ? "folder" : "file";
  const link = followLink(path, walk.scope);
  if ("problem" in link) return link.problem;
  if (!link.isFolder) return "file";
  if (walk.followed.has(link.target) || isWithin(walk.real, link.target)) return "gone";
  walk.followed.add(link.target);
  return "folder";
}

function linkScope(real: string): string {
  const home = homeDirectory();
  const isUsers = [".agents", ".claude"].some((name) => isWithin(real, join(home, name)));
  return isUsers ? home : projectLevels({ cwd: real, home }).root;
}

function listEntries(directory: string): Dirent[] | undefined {
  try {
    return readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return undefined;
  }
}

function lstatIfPresent(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function statOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    const why = errorCode(error) === "ENOENT" ? "does not exist" : "can't be read";
    throw new UserError(`${path} ${why}`, { code: "path", fix: "Specify a file or a directory.", exitCode: 2 });
  }
}

/** One byte larger than the maximum size of a definition, so that definitions that are too large can be detected. */
const buffer = Buffer.allocUnsafe(256 * 1024 + 1);

/** Reads a definition, or the beginning of a file that is too large to be one. */
export function readDefinition(
  path: string,
  file: string,
): { readonly bytes: Uint8Array } | { readonly problem: Diagnostic } {
  try {
    // Opening a pipe must not block.
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
    const fix = "Replace it with a file that you can read, or remove it.";
    return { problem: { severity: "error", file, line: 1, code: "unreadable", message, fix } };
  }
}

export function isSkill(path: string): boolean {
  return basename(path).toLowerCase() === "skill.md";
}
