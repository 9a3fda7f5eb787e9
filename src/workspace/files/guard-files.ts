import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { ChangedFile, FileGuard } from "../../ports/index.ts";
import { gitDirectories } from "../sandbox/git-directories.ts";

export interface GuardedFiles {
  /** Starts to watch for changes that other programs make. `matters` gets paths relative to the workspace. */
  guard(matters: (path: string) => boolean): FileGuard;
  /** Must be called when Retinue itself has changed a file, which is then not reported. */
  changed(path: string): void;
}

/**
 * Creates the guard of a directory's files that change what is permitted or run later. Compares them by their stat, so
 * that it can be done for every command. The content of small files is kept, so that they can be restored.
 */
export function createGuardedFiles(directory: string): GuardedFiles {
  const root = realpathSync.native(directory);
  const contents = new Map<string, Content>();
  /** The version of each file that was reported, or that Retinue wrote. */
  const settled = new Map<string, string>();

  function note(matters: (path: string) => boolean): ReadonlyMap<string, Noted> {
    const noted = new Map<string, Noted>();
    for (const path of pathsIn(root, matters)) {
      const version = versionOf(path);
      if (version === undefined) continue;
      const known = contents.get(path);
      const content = known?.version === version ? known : { version, bytes: read(path), mode: modeOf(path) };
      contents.set(path, content);
      noted.set(path, content);
    }
    return noted;
  }

  return {
    guard(matters) {
      let before = note(matters);
      return {
        review() {
          const now = note(matters);
          const paths = [...new Set([...before.keys(), ...now.keys()])];
          const changes = paths.flatMap((path): ChangedFile[] => {
            const [old, fresh] = [before.get(path), now.get(path)];
            const version = fresh?.version ?? MISSING;
            if (old?.version === fresh?.version || settled.get(path) === version) return [];
            settled.set(path, version);
            return isSame(path, old, fresh) ? [] : [changeOf(path, old, fresh)];
          });
          before = now;
          return changes;
        },
      };
    },
    changed: (path) => void settled.set(path, versionOf(path) ?? MISSING),
  };
}

interface Noted {
  readonly version: string;
  /** Undefined if the file is not a regular file, or is too large to keep. */
  readonly bytes: Uint8Array | undefined;
  readonly mode: number;
}

type Content = Noted;

const MISSING = "missing";

/** A file that was only touched is not changed, nor is a git configuration in which only branches changed. */
function isSame(path: string, before: Noted | undefined, after: Noted | undefined): boolean {
  if (before?.bytes === undefined || after?.bytes === undefined || before.mode !== after.mode) return false;
  return isEqual(before.bytes, after.bytes) || (isGitConfiguration(path) && settings(before) === settings(after));
}

function isEqual(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  return left !== undefined && right !== undefined && Buffer.compare(left, right) === 0;
}

function isGitConfiguration(path: string): boolean {
  return /\/config(\.worktree)?$/.test(path) && !/\/\.(claude|agents|retinue|codex|cursor)\//.test(path);
}

/** Returns a git configuration without the lines that `git push -u` and `git switch -c` write. */
function settings({ bytes = new Uint8Array() }: Noted): string {
  let isBranch = false;
  const lines = Buffer.from(bytes)
    .toString("latin1")
    .split("\n")
    .filter((line) => {
      if (line.startsWith("[")) isBranch = /^\[branch "[^"\\]*"\]$/.test(line);
      return !isBranch || !/^(\[|\t(remote|merge|rebase|vscode-merge-base) = [^"\\]*$)/.test(line);
    });
  return lines.join("\n");
}

function changeOf(path: string, before: Noted | undefined, after: Noted | undefined): ChangedFile {
  // A changed mode can't be restored.
  const isRestorable = (after === undefined || after.bytes !== undefined) && !isEqual(before?.bytes, after?.bytes);
  return {
    path,
    before: isRestorable ? (before === undefined ? null : before.bytes) : undefined,
    after:
      after === undefined
        ? null
        : createHash("sha256")
            .update(after.bytes ?? "")
            .digest("hex"),
  };
}

/** Directories that contain files which matter, although not all of their files do. */
const parents: ReadonlySet<string> = new Set([".github", ".gitea", ".forgejo", ".config", "gradle", "mise", "tools"]);

/** Subdirectories to look into. */
const below: ReadonlySet<string> = new Set(
  "agents skills commands hooks rules prompts instructions workflows actions git fish mise wrapper".split(" "),
);

/** Directories that version control and package managers change all the time. */
const unwatched: ReadonlySet<string> = new Set(".git .hg .jj .sl .yarn retinue-code-cache".split(" "));

/** Files that Retinue itself changes if its state directory is in the workspace. */
const ownState = /^\.retinue\/(?!(settings(\.local)?\.json|permissions\.jsonc|trust\.json|[^/]+\/.*)$)/;

/** Maximum number of files in one directory to compare, so that a command never waits for long. */
const MOST_FILES = 1_000;
const MOST_LEVELS = 3;
/** Maximum size of a file whose content is kept. */
const MOST_BYTES = 256 * 1024;

function pathsIn(root: string, matters: (path: string) => boolean): readonly string[] {
  const git = gitDirectories(root);
  const found = [join(root, ".git"), ...[...git.obeyed, ...git.forbidden].flatMap((path) => filesIn(path, 1))];
  for (const name of namesIn(root)) {
    if (unwatched.has(name) || !(parents.has(name) || matters(name))) continue;
    const top = join(root, name);
    // The directory itself may be a symlink.
    found.push(top);
    const levels = parents.has(name) || name === ".retinue" ? 0 : 1;
    for (const each of someOf(namesIn(top)))
      found.push(...someOf(filesIn(join(top, each), below.has(each) ? MOST_LEVELS : levels)));
  }
  const isRelevant = (path: string): boolean => {
    if (!path.startsWith(`${root}/`) || /^\/\.git(\/|$)/.test(path.slice(root.length))) return true;
    const relative = path.slice(root.length + 1);
    return matters(relative) && !ownState.test(relative);
  };
  return found.filter(isRelevant);
}

function someOf(list: readonly string[]): readonly string[] {
  return list.slice(0, MOST_FILES);
}

/** Returns the path itself, or the files in the directory. */
function filesIn(path: string, levels: number): readonly string[] {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  if (levels === 0) return [];
  return someOf(namesIn(path))
    .filter((name) => !name.endsWith(".sample"))
    .flatMap((name) => filesIn(join(path, name), levels - 1));
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Returns undefined if there is no file, or if it is a directory. */
function versionOf(path: string): string | undefined {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined || stat.isDirectory()) return undefined;
    const target = stat.isSymbolicLink() ? readlinkSync(path) : "";
    return `${stat.dev}-${stat.ino}-${stat.size}-${stat.mtimeNs}-${stat.ctimeNs}-${target}`;
  } catch {
    return undefined;
  }
}

function modeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0;
}

function read(path: string): Uint8Array | undefined {
  try {
    const stat = lstatSync(path);
    return stat.isFile() && stat.size <= MOST_BYTES ? readFileSync(path) : undefined;
  } catch {
    return undefined;
  }
}
