import { readdirSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { SettingsScope } from "../protocol/index.ts";

export interface SettingsFile {
  readonly path: string;
  readonly scope: Exclude<SettingsScope, "environment">;
  /** `compact` is a `permissions.jsonc`; `claude` is read with that product's words and keys. */
  readonly kind: "retinue" | "claude" | "compact";
  /** Somebody asked for this file, so it must be there. */
  readonly named: boolean;
  /** The file must not lie outside of this directory, wherever links lead. */
  readonly inside?: string;
  /** How the user is told of it, as seen from the workspace; absent: by its path. */
  readonly shown?: string;
  /** Stands above the workspace. */
  readonly above?: DirectoryAbove;
}

/** A directory above the workspace that belongs to the same project. */
export interface DirectoryAbove {
  readonly path: string;
  readonly trusted: boolean;
  /** Of this directory's own files. */
  readonly approvedHash?: (kind: string, name: string) => string | undefined;
}

export interface SettingsPlaces {
  /** The state directory. */
  readonly home: string;
  /** The workspace; absent: no project. */
  readonly cwd?: string;
  /** The directories of the project above it, nearest first. */
  readonly above?: readonly DirectoryAbove[];
  /** The user's home directory; absent: only the state directory counts as the user's. */
  readonly userHome?: string;
  /** Takes the place of the state directory's `settings.json`. */
  readonly file?: string | undefined;
  readonly managedDirectory?: string;
}

/** Files that may hold settings, lowest first. Directories that are not there cost one look each. */
export function settingsFiles(places: SettingsPlaces): readonly SettingsFile[] {
  const user = userFiles(places);
  // Who works in the home directory meets the user's own files there, which are no project's.
  const own = new Set(user.map(({ path }) => resolve(path)));
  const project = projectFiles(places).filter(({ path }) => !own.has(resolve(path)));
  return [...user, ...project, ...managedFiles(places.managedDirectory ?? managedDirectory)];
}

/** What whoever manages the machine says, for everybody on it. */
export const managedDirectory = "/etc/retinue";

function userFiles({ home, userHome, file }: SettingsPlaces): readonly SettingsFile[] {
  const user = { scope: "user", named: false } as const;
  const claude = userHome === undefined ? undefined : join(userHome, ".claude");
  return [
    ...(claude !== undefined && isThere(claude)
      ? [{ ...user, kind: "claude", path: join(claude, "settings.json") } as const]
      : []),
    { ...user, kind: "retinue", path: file ?? join(home, "settings.json"), named: file !== undefined },
    { ...user, kind: "compact", path: join(home, "permissions.jsonc") },
  ];
}

/** Scope by scope, and within a scope from the root of the project down: the nearest wins. */
function projectFiles({ cwd, above = [] }: SettingsPlaces): readonly SettingsFile[] {
  if (cwd === undefined) return [];
  const levels = [
    ...[...above].reverse().map((each) => filesOfLevel(each.path, { cwd, above: each })),
    filesOfLevel(cwd, { cwd }),
  ];
  return (["compact", "project", "local"] as const).flatMap((part) => levels.flatMap((level) => level[part]));
}

function filesOfLevel(
  directory: string,
  { cwd, above }: { readonly cwd: string; readonly above?: DirectoryAbove },
): Readonly<Record<"compact" | "project" | "local", readonly SettingsFile[]>> {
  const names = (["claude", "agents", "retinue"] as const).filter((name) => isThere(join(directory, `.${name}`)));
  const file = (folder: string, name: string) => {
    const path = join(directory, folder, name);
    return { named: false, inside: directory, path, shown: relative(cwd, path), ...(above ? { above } : {}) } as const;
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
  if (!isThere(directory)) return [];
  const managed = { scope: "managed", named: false, kind: "retinue" } as const;
  const more = join(directory, "settings.d");
  return [
    { ...managed, path: join(directory, "settings.json") },
    ...(isThere(more) ? namesIn(more) : []).map((name) => ({ ...managed, path: join(more, name) })),
  ];
}

/** By name, so that a later one wins. A directory that can't be listed is left to the one who reads it as a file: a problem. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith(".json"))
      .sort();
  } catch {
    return [""];
  }
}

/** What can't be looked at counts as there: reading it will say why. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
