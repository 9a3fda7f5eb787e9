import { existsSync } from "node:fs";
import { relative } from "node:path";
import { projectLevels } from "../definitions/index.ts";
import type { TrustStore } from "../settings/index.ts";

export interface TrustedLevels {
  /** Directories from the workspace up to the root of its project. */
  readonly nearestFirst: readonly { readonly path: string; readonly trusted: boolean }[];
  /** Root of the project. */
  readonly root: string;
  /** Highest trusted directory; absent if none is trusted. */
  readonly trustedRoot?: string | undefined;
}

export interface LevelsRequest {
  /** Real path of the workspace. */
  readonly cwd: string;
  readonly userHome: string;
  readonly store: TrustStore;
  /** True to treat the workspace as trusted, even if the user has not trusted it. */
  readonly trust: boolean;
}

/**
 * Returns which directories, from the workspace up to the project's root, are trusted. To trust a directory is to trust
 * everything in it, so every directory between the workspace and a trusted one is trusted too.
 */
export function trustedLevels({ cwd, userHome, store, trust }: LevelsRequest): TrustedLevels {
  const { nearestFirst } = projectLevels({ cwd, home: userHome });
  const above = nearestFirst.filter((path) => path !== cwd);
  const levels = [
    { path: cwd, trusted: trust || store.isTrusted(cwd) },
    ...above.map((path) => ({ path, trusted: store.isTrusted(path) })),
  ];
  const trustedRoot = levels.filter(({ trusted }) => trusted).at(-1)?.path;
  return { nearestFirst: levels, root: levels.at(-1)!.path, trustedRoot };
}

/**
 * Returns the agents, skills and instructions in untrusted directories, which are not read. Paths are relative to the
 * workspace.
 */
export function unreadFiles({ nearestFirst }: TrustedLevels, cwd: string): readonly string[] {
  return nearestFirst
    .filter(({ trusted }) => !trusted)
    .flatMap(({ path }) => definitionPaths.map((name) => `${path}/${name}`))
    .filter((path) => existsSync(path))
    .map((path) => relative(cwd, path));
}

const definitionPaths = [
  "AGENTS.md",
  "CLAUDE.md",
  ".agents/agents",
  ".claude/agents",
  ".agents/skills",
  ".claude/skills",
];
