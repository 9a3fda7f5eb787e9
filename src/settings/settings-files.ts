import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
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
}

export interface SettingsPlaces {
  /** The state directory. */
  readonly home: string;
  /** The workspace; absent: no project. */
  readonly cwd?: string;
  /** The user's home directory; absent: only the state directory counts as the user's. */
  readonly userHome?: string;
  /** Takes the place of the state directory's `settings.json`. */
  readonly file?: string;
  readonly managedDirectory?: string;
}

/** Files that may hold settings, lowest first. Directories that are not there cost one look each. */
export function settingsFiles(places: SettingsPlaces): readonly SettingsFile[] {
  const user = userFiles(places);
  // Who works in the home directory meets the user's own files there, which are no project's.
  const own = new Set(user.map(({ path }) => resolve(path)));
  const project = projectFiles(places.cwd).filter(({ path }) => !own.has(resolve(path)));
  return [...user, ...project, ...managedFiles(places.managedDirectory ?? "/etc/retinue")];
}

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

function projectFiles(cwd: string | undefined): readonly SettingsFile[] {
  if (cwd === undefined) return [];
  const common = { named: false, inside: cwd } as const;
  const names = (["claude", "agents", "retinue"] as const).filter((name) => isThere(join(cwd, `.${name}`)));
  const files = (scope: "project" | "local", file: string): SettingsFile[] =>
    names.flatMap((name) =>
      name === "agents" ? [] : [{ ...common, scope, kind: name, path: join(cwd, `.${name}`, file) }],
    );
  const compact = names.flatMap((name): SettingsFile[] =>
    name === "claude"
      ? []
      : [{ ...common, scope: "project", kind: "compact", path: join(cwd, `.${name}`, "permissions.jsonc") }],
  );
  return [...compact, ...files("project", "settings.json"), ...files("local", "settings.local.json")];
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
