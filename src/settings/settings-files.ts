import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { describeError, errorCode, formatBytes } from "../lib/index.ts";
import type { SettingsScope } from "../protocol/index.ts";
import type { ProjectTrust } from "./limit-project.ts";

export interface SettingsFile {
  readonly path: string;
  readonly scope: Exclude<SettingsScope, "environment">;
  /** Format of the file. `compact` is a `permissions.jsonc`; `claude` uses the keys and values of Claude Code. */
  readonly kind: "retinue" | "claude" | "compact";
  /** True if the user named this file, so that it must exist. */
  readonly named: boolean;
  /** Directory that must contain the file after symlinks are resolved. */
  readonly inside?: string | undefined;
  /** Path for messages, relative to the workspace. Defaults to `path`. */
  readonly shown?: string | undefined;
  /** Directory above the workspace that contains the file. */
  readonly above?: DirectoryAbove | undefined;
}

/** A directory above the workspace that belongs to the same project. */
export interface DirectoryAbove extends ProjectTrust {
  readonly path: string;
}

export interface SettingsLocations {
  /** Retinue's state directory. */
  readonly home: string;
  /** Path of the workspace; undefined if there is no project. */
  readonly cwd?: string | undefined;
  /** Directories of the project above the workspace, nearest first. */
  readonly above?: readonly DirectoryAbove[] | undefined;
  /** The user's home directory. If undefined, the user's `.claude` directory is not read. */
  readonly userHome?: string | undefined;
  /** File to read instead of `settings.json` in the state directory. */
  readonly file?: string | undefined;
  readonly managedDirectory?: string | undefined;
}

/** Returns the files that may contain settings, lowest scope first. */
export function settingsFiles(locations: SettingsLocations): readonly SettingsFile[] {
  const user = userFiles(locations);
  // In the home directory, the user's own files are not project files.
  const own = new Set(user.map(({ path }) => resolve(path)));
  const project = projectFiles(locations).filter(({ path }) => !own.has(resolve(path)));
  return [...user, ...project, ...managedFiles(locations.managedDirectory ?? managedDirectory)];
}

/** Directory with the administrator's settings, which apply to all users of the machine. */
export const managedDirectory = "/etc/retinue";

function userFiles({ home, userHome, file }: SettingsLocations): readonly SettingsFile[] {
  const user = { scope: "user", named: false } as const;
  const claude = userHome === undefined ? undefined : join(userHome, ".claude");
  return [
    ...(claude !== undefined && exists(claude)
      ? [{ ...user, kind: "claude", path: join(claude, "settings.json") } as const]
      : []),
    { ...user, kind: "retinue", path: file ?? join(home, "settings.json"), named: file !== undefined },
    { ...user, kind: "compact", path: join(home, "permissions.jsonc") },
  ];
}

/**
 * Returns the project's files ordered by scope, and within a scope from the root of the project down, so that the
 * nearest file wins.
 */
function projectFiles({ cwd, above = [] }: SettingsLocations): readonly SettingsFile[] {
  if (cwd === undefined) return [];
  const levels = [
    ...[...above].reverse().map((each) => filesOfLevel(each.path, { cwd, above: each })),
    filesOfLevel(cwd, { cwd }),
  ];
  return (["compact", "project", "local"] as const).flatMap((part) => levels.flatMap((level) => level[part]));
}

function filesOfLevel(
  directory: string,
  { cwd, above }: { readonly cwd: string; readonly above?: DirectoryAbove | undefined },
): Readonly<Record<"compact" | "project" | "local", readonly SettingsFile[]>> {
  const names = (["claude", "agents", "retinue"] as const).filter((name) => exists(`${directory}/.${name}`));
  const file = (folder: string, name: string) => {
    const path = join(directory, folder, name);
    return { named: false, inside: directory, path, shown: relative(cwd, path), above } as const;
  };
  const files = (scope: "project" | "local", name: string): SettingsFile[] =>
    names.flatMap((kind) => (kind === "agents" ? [] : [{ ...file(`.${kind}`, name), scope, kind }]));
  const compact = names.flatMap((name): SettingsFile[] =>
    name === "claude" ? [] : [{ ...file(`.${name}`, "permissions.jsonc"), scope: "project", kind: "compact" }],
  );
  return {
    compact,
    project: files("project", "settings.json"),
    local: files("local", "settings.local.json"),
  };
}

function managedFiles(directory: string): readonly SettingsFile[] {
  if (!exists(directory)) return [];
  const managed = { scope: "managed", named: false, kind: "retinue" } as const;
  const more = join(directory, "settings.d");
  return [
    { ...managed, path: join(directory, "settings.json") },
    ...(exists(more) ? namesIn(more) : []).map((name) => ({ ...managed, path: join(more, name) })),
  ];
}

/**
 * Returns the names of JSON files, sorted so that later ones win. An unreadable directory is returned as a file, so
 * that reading it reports the error.
 */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith(".json"))
      .sort();
  } catch {
    return [""];
  }
}

/** Returns true if the path exists or can't be accessed. In the second case, reading the path reports why. */
function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

export type FileText = { readonly text: string } | { readonly problem: string } | undefined;

/** Maximum size in bytes. A larger file is a mistake or an attack. */
const LARGEST_SETTINGS = 1_000_000;

/**
 * Reads a settings file. Returns undefined if the file does not exist, unless the user named it. Never throws, blocks
 * on a pipe or follows a symlink out of a project.
 */
export function readSettingsFile({ path, named, inside }: SettingsFile): FileText {
  try {
    if (inside !== undefined && leavesProject(path, inside)) {
      return { problem: `${path}: This is a link that leads out of the project. Replace it with the file itself.` };
    }
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readOpen(descriptor, path);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const isMissing = errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR";
    if (isMissing && !named) return undefined;
    if (isMissing)
      return { problem: `There is no settings file ${path}. Check the path given with the \`settingsFile\` option.` };
    return { problem: `${path}: The settings can't be read: ${describeError(error)}.` };
  }
}

function readOpen(descriptor: number, path: string): FileText {
  const stat = fstatSync(descriptor);
  if (!stat.isFile()) return { problem: `${path}: This is not a regular file. Replace it with one.` };
  if (stat.size > LARGEST_SETTINGS) {
    const limit = `${formatBytes(stat.size)}, but the limit is ${formatBytes(LARGEST_SETTINGS)}`;
    return { problem: `${path}: The file has a size of ${limit}. Make it shorter.` };
  }
  const bytes = readFileSync(descriptor);
  // A rule that contains bytes that can't be decoded would never match.
  if (!isUtf8(bytes)) return { problem: `${path}: The file is not UTF-8 text. Save it as UTF-8.` };
  return { text: bytes.toString("utf8") };
}

function leavesProject(path: string, inside: string): boolean {
  const real = realpathSync.native(path);
  const root = realpathSync.native(inside);
  return !real.startsWith(root.endsWith(sep) ? root : root + sep);
}
