import { homedir } from "node:os";
import { sep } from "node:path";
import type { SettingsOrigin } from "../../protocol/index.ts";
import { createTrustStore, type TrustedPath } from "../../settings/index.ts";
import { loadAgentCatalog } from "../agents/agent-catalog.ts";
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
  /** Settings of the directory that apply from now on, until they change. */
  readonly counts: readonly SettingsOrigin[];
  /** Names of agents, skills and other files of the directory that are active from now on, by kind. */
  readonly active: readonly { readonly kind: string; readonly names: readonly string[] }[];
  readonly notices: readonly string[];
}

/** Trusts a directory and everything below it, and approves its current settings. */
export async function addTrust({ home, cwd, environment }: TrustOptions): Promise<AddedTrust> {
  const settings = loadProjectSettings({ home, cwd, environment, trust: true });
  const { approvals, origins, notices } = settings;
  const { catalog, snapshot } = await loadAgentCatalog({ home, cwd, environment, trust: true, settings });
  await createTrustStore({ stateHome: home }).add(cwd, approvals);
  const counts = origins.filter(({ scope, path, file }) => {
    const isOwn = (scope === "project" || scope === "local") && file?.startsWith(cwd + sep);
    return isOwn && !/^permissions\.(deny|ask)\b/.test(path);
  });
  const ofProject = (entries: readonly Defined[]): readonly string[] =>
    entries.flatMap(({ definition }) => (isOwnFile(definition, cwd) ? [definition.name] : []));
  const ofSettings = (key: string): readonly string[] => [
    ...new Set(counts.flatMap(({ path }) => new RegExp(`^${key}\\.([^.[]+)`).exec(path)?.[1] ?? [])),
  ];
  const active = [
    { kind: "agent", names: ofProject(catalog.agents) },
    { kind: "skill", names: ofProject(snapshot.skills) },
    { kind: "hook", names: ofSettings("hooks") },
    { kind: "MCP server", names: ofSettings("mcpServers") },
  ].filter(({ names }) => names.length > 0);
  return { counts, active, notices: [...broadTrustNotice(cwd, environment), ...notices] };
}

interface Defined {
  readonly definition: { readonly name: string; readonly source: string; readonly file?: string | undefined };
}

function isOwnFile({ source, file }: Defined["definition"], cwd: string): boolean {
  return source === "project" && file?.startsWith(cwd + sep) === true;
}

/** Returns true if agents of a directory are loaded: it is trusted, or it is the user's home directory. */
export function isTrusted({ home, cwd, environment }: TrustOptions): boolean {
  return cwd === (environment["HOME"] || homedir()) || createTrustStore({ stateHome: home }).isTrusted(cwd);
}

function broadTrustNotice(cwd: string, environment: Environment): readonly string[] {
  const userHome = environment["HOME"] || homedir();
  if (userHome !== cwd && !userHome.startsWith(cwd.endsWith(sep) ? cwd : cwd + sep)) return [];
  return [`This also trusts everything below ${cwd} that is not a separate repository. Is that what you want?`];
}

export interface RemovedTrust {
  /** False if the directory itself was not trusted. */
  readonly removed: boolean;
  /** Parent directory whose trust still includes this directory. */
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
