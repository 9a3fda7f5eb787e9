import { homedir } from "node:os";
import { sep } from "node:path";
import type { SettingsOrigin } from "../../protocol/index.ts";
import { createTrustStore, type TrustedPath } from "../../settings/index.ts";
import type { Environment } from "../directories.ts";
import { loadProjectSettings } from "../settings/project-settings.ts";

export interface TrustOptions {
  /** State directory. */
  readonly home: string;
  /** Real path of the directory. */
  readonly cwd: string;
  readonly environment: Environment;
}

export interface AddedTrust {
  /** Settings of the directory that are in force from now on, until they change. */
  readonly counts: readonly SettingsOrigin[];
  readonly notices: readonly string[];
}

/** Trusts a directory and everything below it, and approves its current settings. */
export async function addTrust({ home, cwd, environment }: TrustOptions): Promise<AddedTrust> {
  const { approvals, origins, notices } = loadProjectSettings({ home, cwd, environment, trust: true });
  await createTrustStore({ stateHome: home }).add(cwd, approvals);
  const counts = origins.filter(({ scope, path, file }) => {
    const isOwn = (scope === "project" || scope === "local") && file?.startsWith(cwd + sep);
    return isOwn && !/^permissions\.(deny|ask)\b/.test(path);
  });
  return { counts, notices: [...broadTrustNotice(cwd, environment), ...notices] };
}

function broadTrustNotice(cwd: string, environment: Environment): readonly string[] {
  const userHome = environment["HOME"] || homedir();
  if (userHome !== cwd && !userHome.startsWith(cwd.endsWith(sep) ? cwd : cwd + sep)) return [];
  return [`Everything below ${cwd} that is no repository of its own is trusted with it. Is that what you meant?`];
}

export interface RemovedTrust {
  /** False if the directory itself was not trusted. */
  readonly removed: boolean;
  /** Directory above it that still makes it trusted. */
  readonly stillBy?: string | undefined;
}

export async function removeTrust({ home, cwd }: Pick<TrustOptions, "home" | "cwd">): Promise<RemovedTrust> {
  const store = createTrustStore({ stateHome: home });
  const removed = await store.remove(cwd);
  return { removed, stillBy: store.coveredBy(cwd) };
}

export function listTrust(home: string): {
  readonly trusted: readonly TrustedPath[];
  readonly problem?: string | undefined;
} {
  const { problem, list } = createTrustStore({ stateHome: home });
  return { trusted: list(), problem };
}
