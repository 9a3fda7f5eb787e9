import { homedir } from "node:os";
import { sep } from "node:path";
import type { SettingsOrigin } from "../../protocol/index.ts";
import { createTrustStore, type TrustedPath } from "../../settings/index.ts";
import type { Environment } from "../places.ts";
import { loadProjectSettings } from "../settings/project-settings.ts";

export interface TrustPlace {
  readonly home: string;
  /** The real path. */
  readonly cwd: string;
  readonly environment: Environment;
}

export interface AddedTrust {
  /** What of the directory's own files counts from now on, until it changes. */
  readonly counts: readonly SettingsOrigin[];
  readonly notices: readonly string[];
}

/** Trusts a directory with what is below it, and what its own settings say at this moment. */
export async function addTrust({ home, cwd, environment }: TrustPlace): Promise<AddedTrust> {
  const { approvals, origins, notices } = loadProjectSettings({ home, cwd, environment, trust: true });
  await createTrustStore({ stateHome: home }).add(cwd, approvals);
  const counts = origins.filter(({ scope, path, file }) => {
    const isOwn = (scope === "project" || scope === "local") && file?.startsWith(cwd + sep);
    return isOwn && !/^permissions\.(deny|ask)\b/.test(path);
  });
  return { counts, notices: [...wideTrust(cwd, environment), ...notices] };
}

function wideTrust(cwd: string, environment: Environment): readonly string[] {
  const userHome = environment["HOME"] || homedir();
  if (userHome !== cwd && !userHome.startsWith(cwd.endsWith(sep) ? cwd : cwd + sep)) return [];
  return [`Everything below ${cwd} that is no repository of its own is trusted with it. Is that what you meant?`];
}

export interface RemovedTrust {
  /** False: it had no trust of its own. */
  readonly removed: boolean;
  /** The directory above it whose trust still holds for it. */
  readonly stillBy?: string | undefined;
}

export async function removeTrust({ home, cwd }: Pick<TrustPlace, "home" | "cwd">): Promise<RemovedTrust> {
  const store = createTrustStore({ stateHome: home });
  const removed = await store.remove(cwd);
  const stillBy = store.coveredBy(cwd);
  return { removed, ...(stillBy === undefined ? {} : { stillBy }) };
}

export function listTrust(home: string): {
  readonly trusted: readonly TrustedPath[];
  readonly problem?: string | undefined;
} {
  const { problem, list } = createTrustStore({ stateHome: home });
  return { trusted: list(), ...(problem === undefined ? {} : { problem }) };
}
