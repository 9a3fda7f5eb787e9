import { existsSync, lstatSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { homeDirectory } from "../lib/index.ts";
import type { ProjectSettings } from "../protocol/index.ts";
import { createTrustStore, managedDirectory } from "../settings/index.ts";
import { type ProjectSettingsOptions, readProjectSettings } from "./project-settings.ts";
import { trustedLevels } from "./trusted-levels.ts";

type Common = Pick<ProjectSettingsOptions, "home" | "cwd" | "environment" | "managedDirectory">;
type Request = Omit<ProjectSettingsOptions, keyof Common>;

interface Known {
  readonly settings: ProjectSettings;
  readonly paths: readonly string[];
  /** Undefined if a file may still change without a change of its stamp. */
  readonly stamp: readonly number[] | undefined;
}

/**
 * Creates a function like `readProjectSettings` that reads the files again only if one of them, or one of the
 * directories that may contain them, has changed. Sessions read their settings for each response of each agent.
 */
export function createSettingsReader(common: Common): (request: Request) => ProjectSettings {
  const known = new Map<string, Known>();
  return (request) => {
    const key = JSON.stringify(request);
    const before = known.get(key);
    // Taken before the files are read, so that a change in the meantime is noticed next time.
    const stamp = before && stampOf(before.paths);
    if (before !== undefined && isEqual(stamp, before.stamp)) return before.settings;
    const settings = readProjectSettings({ ...common, ...request });
    // Most sessions without tool calls read their settings only once.
    const paths = before === undefined ? [] : withoutImplied(pathsOf(common, request, settings));
    known.set(key, { settings, paths, stamp: isEqual(paths, before?.paths) ? stamp : undefined });
    return settings;
  };
}

const settingsNames = ["settings.json", "settings.local.json", "permissions.jsonc"];

function pathsOf(common: Common, { trust, file }: Request, { files }: ProjectSettings): readonly string[] {
  const { home, cwd, environment, managedDirectory: managed = managedDirectory } = common;
  const userHome = homeDirectory(environment);
  const { nearestFirst } = trustedLevels({ cwd, userHome, store: createTrustStore({ stateHome: home }), trust });
  const levels = nearestFirst.flatMap(({ path }) => [
    path,
    join(path, ".mcp.json"),
    ...[".agents", ".claude", ".retinue"].flatMap((folder) =>
      ["", ...settingsNames].map((name) => join(path, folder, name)),
    ),
  ]);
  const own = [home, join(userHome, ".claude")];
  return [
    ...own.flatMap((path) => [path, ...settingsNames.map((name) => join(path, name))]),
    join(home, "trust.json"),
    managed,
    ...levels,
    ...files,
    ...(file === undefined ? [] : [file]),
  ];
}

/** Leaves out missing files in directories that are on the list themselves, because their creation changes those. */
function withoutImplied(paths: readonly string[]): readonly string[] {
  const all = new Set(paths);
  return [...all].filter((path) => existsSync(path) || !all.has(dirname(path)) || isLink(path));
}

/** Returns true for a link, also if what it points to is missing. */
function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** Time in which a file can change twice without a visible difference, with a margin. */
const CLOCK_STEP_MS = 50;

function stampOf(paths: readonly string[]): readonly number[] | undefined {
  const now = Date.now();
  const stamp: number[] = [];
  for (const path of paths) {
    const stat = statAt(path);
    if (stat === "unknown") return undefined;
    const { dev, ino, size, mtimeMs, ctimeMs } = stat ?? missing;
    if (now - Math.max(mtimeMs, ctimeMs) < CLOCK_STEP_MS) return undefined;
    stamp.push(dev, ino, size, mtimeMs, ctimeMs);
  }
  return stamp;
}

const missing = { dev: 0, ino: 0, size: 0, mtimeMs: 0, ctimeMs: 0 };

function isEqual<Part>(left: readonly Part[] | undefined, right: readonly Part[] | undefined): boolean {
  if (left === undefined || left.length !== right?.length) return false;
  return left.every((part, index) => part === right[index]);
}

function statAt(path: string): Stats | "unknown" | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return "unknown";
  }
}
