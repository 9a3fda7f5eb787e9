import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { projectLevels } from "../../definitions/index.ts";
import type { TrustStore } from "../../settings/index.ts";

export interface TrustedLevels {
  /** From the workspace up to the root of its project. */
  readonly nearestFirst: readonly { readonly path: string; readonly trusted: boolean }[];
  /** The root of the project. */
  readonly root: string;
  /** The highest directory that counts; absent: nothing of the project does. */
  readonly trustedRoot?: string | undefined;
}

export interface LevelsRequest {
  /** The real path of the workspace. */
  readonly cwd: string;
  readonly userHome: string;
  readonly store: TrustStore;
  /** The workspace counts for this once, whatever the store says. */
  readonly trust: boolean;
}

/** How much of a project the user trusts. Trust reaches down, so those that count are the nearest ones. */
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

/** What a project brings beside settings and is not read for want of trust, as seen from the workspace. */
export function unreadFiles({ nearestFirst }: TrustedLevels, cwd: string): readonly string[] {
  return nearestFirst
    .filter(({ trusted }) => !trusted)
    .flatMap(({ path }) => brought.map((name) => join(path, name)))
    .filter((path) => existsSync(path))
    .map((path) => relative(cwd, path));
}

const brought = ["AGENTS.md", "CLAUDE.md", ".agents/agents", ".claude/agents", ".agents/skills", ".claude/skills"];
