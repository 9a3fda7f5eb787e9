import { sep } from "node:path";
import { homeDirectory } from "../../lib/index.ts";
import type { AgentDefinition, JsonValue, SettingsOrigin } from "../../protocol/index.ts";
import { createTrustStore, type TrustedPath } from "../../settings/index.ts";
import { loadAgentCatalog } from "../agents/agent-catalog.ts";
import { seeWhy, unloadedSummary } from "../agents/agent-diagnostics.ts";
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
  /** The directory's settings, and the hooks and MCP servers in its agent files. They are trusted until they change. */
  readonly approved: readonly SettingsOrigin[];
  /** Names of the directory's agents, skills and other files that are now active, grouped by kind. */
  readonly active: readonly { readonly kind: string; readonly names: readonly string[] }[];
  readonly notices: readonly string[];
}

/** The settings and files that would take effect if a directory were trusted. */
export interface TrustReview extends AddedTrust {
  /** Trusts the directory and everything under it, and approves what was reviewed. Later changes are not approved. */
  trust(): Promise<void>;
}

/**
 * Trusts a directory and everything under it, and approves its current settings and the hooks and MCP servers in its
 * agent files.
 */
export async function addTrust(options: TrustOptions): Promise<AddedTrust> {
  const { trust, ...added } = await reviewTrust(options);
  await trust();
  return added;
}

/** Returns what would take effect if a directory were trusted, without trusting it. */
export async function reviewTrust({ home, cwd, environment }: TrustOptions): Promise<TrustReview> {
  const settings = loadProjectSettings({ home, cwd, environment, trust: true });
  const { origins, notices } = settings;
  const loaded = await loadAgentCatalog({ home, cwd, environment, trust: true, settings });
  const { catalog, snapshot } = loaded;
  const fromSettings = origins.filter(({ scope, path, file }) => {
    const isOwn = (scope === "project" || scope === "local") && file?.startsWith(cwd + sep);
    return isOwn && !/^permissions\.(deny|ask)\b/.test(path);
  });
  const approved = [...fromSettings, ...snapshot.agents.flatMap((each) => programsOf(each.definition, cwd))];
  const ofProject = (entries: readonly Defined[]): readonly string[] =>
    entries.flatMap(({ definition }) => (isOwnFile(definition, cwd) ? [definition.name] : []));
  const ofSettings = (key: string): readonly string[] => [
    ...new Set(approved.flatMap(({ path }) => new RegExp(`^${key}\\.([^.[]+)`).exec(path)?.[1] ?? [])),
  ];
  const active = [
    { kind: "agent", names: ofProject(catalog.agents) },
    { kind: "skill", names: ofProject(snapshot.skills) },
    { kind: "hook", names: ofSettings("hooks") },
    { kind: "MCP server", names: ofSettings("mcpServers") },
  ].filter(({ names }) => names.length > 0);
  const unloaded = unloadedSummary(loaded, (file) => file.startsWith(cwd + sep));
  return {
    trust: () => createTrustStore({ stateHome: home }).add(cwd, [...settings.approvals, ...snapshot.approvals]),
    approved,
    active,
    notices: [
      ...broadTrustNotice(cwd, environment),
      ...notices,
      ...(unloaded === undefined ? [] : [`${unloaded}. ${seeWhy}`]),
    ],
  };
}

interface Defined {
  readonly definition: { readonly name: string; readonly source: string; readonly file?: string | undefined };
}

/** Returns the hooks and MCP servers in one of the directory's agent files, in settings format. */
function programsOf(definition: AgentDefinition, cwd: string): readonly SettingsOrigin[] {
  const { name, file, hooks = [], mcpServers = [] } = definition;
  if (!isOwnFile(definition, cwd)) return [];
  const origin = (path: string, value: unknown): SettingsOrigin => {
    return { path: `agents.${name}.${path}`, value: value as JsonValue, scope: "project", file };
  };
  return [
    ...hooks.map(({ event, where: _, ...hook }) => origin(`hooks.${event}`, hook)),
    ...mcpServers.flatMap((use) => (use.config === undefined ? [] : [origin(`mcpServers.${use.name}`, use.config)])),
  ];
}

function isOwnFile({ source, file }: Defined["definition"], cwd: string): boolean {
  return source === "project" && file?.startsWith(cwd + sep) === true;
}

/**
 * Returns true if a directory's agents are loaded, because the directory is trusted or is the user's home directory.
 */
export function isTrusted({ home, cwd, environment }: TrustOptions): boolean {
  return cwd === homeDirectory(environment) || createTrustStore({ stateHome: home }).isTrusted(cwd);
}

function broadTrustNotice(cwd: string, environment: Environment): readonly string[] {
  const userHome = homeDirectory(environment);
  if (userHome !== cwd && !userHome.startsWith(cwd.endsWith(sep) ? cwd : cwd + sep)) return [];
  return [`This also trusts everything under ${cwd} that is not a separate repository. Is that what you want?`];
}

export interface RemovedTrust {
  /** False if the directory itself was not trusted. */
  readonly removed: boolean;
  /** The trusted parent directory that keeps this directory trusted. */
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
