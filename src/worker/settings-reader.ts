import { type Stats, statSync } from "node:fs";
import { join } from "node:path";
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
  readonly stamp: string | undefined;
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
    if (before !== undefined && stamp !== undefined && stamp === before.stamp) return before.settings;
    const settings = readProjectSettings({ ...common, ...request });
    const paths = pathsOf(common, request, settings);
    const isSame = before?.paths.length === paths.length && paths.every((path, index) => path === before.paths[index]);
    known.set(key, { settings, paths, stamp: isSame ? stamp : undefined });
    return settings;
  };
}

function pathsOf(common: Common, { trust, file }: Request, { files }: ProjectSettings): readonly string[] {
  const { home, cwd, environment, managedDirectory: managed = managedDirectory } = common;
  const userHome = homeDirectory(environment);
  const { nearestFirst } = trustedLevels({ cwd, userHome, store: createTrustStore({ stateHome: home }), trust });
  const levels = nearestFirst.flatMap(({ path }) => [
    path,
    ...[".agents", ".claude", ".retinue", ".mcp.json"].map((name) => join(path, name)),
  ]);
  return [
    home,
    join(home, "trust.json"),
    join(userHome, ".claude"),
    managed,
    ...levels,
    ...files,
    ...(file === undefined ? [] : [file]),
  ];
}

/** Time in which a file can change twice without a visible difference, with a margin. */
const CLOCK_STEP_MS = 50;

function stampOf(paths: readonly string[]): string | undefined {
  const now = Date.now();
  const stamps: string[] = [];
  for (const path of paths) {
    const stat = statAt(path);
    if (stat === "unknown") return undefined;
    if (stat !== undefined && now - Math.max(stat.mtimeMs, stat.ctimeMs) < CLOCK_STEP_MS) return undefined;
    stamps.push(stat === undefined ? "" : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`);
  }
  return stamps.join("\n");
}

function statAt(path: string): Stats | "unknown" | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return "unknown";
  }
}
