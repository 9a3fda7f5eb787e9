import { homedir } from "node:os";
import {
  type BuiltInChoice,
  builtInAgents,
  type Catalog,
  type CatalogEntry,
  compactLimits,
  createCatalog,
  installedPlugins,
  loadSnapshot,
  type Snapshot,
} from "../../definitions/index.ts";
import type { AgentDefinition, Diagnostic, PermissionMode, Rule, SettingsOrigin } from "../../protocol/index.ts";
import { createTrustStore, type LoadedSettings, managedDirectory } from "../../settings/index.ts";
import type { Environment } from "../places.ts";
import { docsDirectory } from "../places.ts";
import { readProjectSettings } from "../settings/project-settings.ts";
import { trustedLevels, unreadFiles } from "../settings/trusted-levels.ts";
import { type CatalogSettings, catalogSettings, type SwitchedOff } from "./catalog-settings.ts";

export interface CatalogAgent extends CatalogEntry {
  body(): string;
}

export interface AgentCatalog {
  readonly catalog: Catalog<CatalogAgent>;
  readonly snapshot: Snapshot;
  /** Of files, plugins, settings and names together. */
  readonly diagnostics: readonly Diagnostic[];
  /** Whether the workspace's own files count. */
  readonly trusted: boolean;
  /** The highest directory of the project that counts. */
  readonly trustedRoot?: string | undefined;
  /** The root of the project. */
  readonly root: string;
  readonly switchedOff: readonly SwitchedOff[];
  /** Of the settings files that were read here. */
  readonly rules: readonly Rule[];
}

export interface CatalogPlace {
  /** The real path of the workspace. */
  readonly cwd: string;
  /** The state directory. */
  readonly home: string;
  readonly environment: Environment;
  /** The workspace counts for this once, whatever the store says. */
  readonly trust: boolean;
  /** Agents given with this call, by name. */
  readonly agents?: Readonly<Record<string, unknown>> | undefined;
  /** Which of the built-in agents there are. */
  readonly builtIn?: BuiltInChoice;
  /** What was loaded already; absent: the settings files of this place are read. */
  readonly settings?: Pick<LoadedSettings, "agents" | "origins" | "settings"> | undefined;
  readonly managedDirectory?: string;
  /** What was read before: a file that is half-written now counts as it was then. */
  readonly previous?: Snapshot | undefined;
}

/** Every agent there is for a workspace: built in, of plugins, the user and, as far as it is trusted, the project. */
export async function loadAgentCatalog(place: CatalogPlace): Promise<AgentCatalog> {
  const { cwd, home, environment, trust } = place;
  const userHome = environment["HOME"] || homedir();
  const levels = trustedLevels({ cwd, userHome, store: createTrustStore({ stateHome: home }), trust });
  const trusted = levels.trustedRoot !== undefined;
  const { chosen, rules } = settingsOf(place);
  const { plugins: installed, problem } = installedPlugins(home);
  const files = {
    cwd,
    home: userHome,
    stateHome: home,
    trusted,
    trustedRoot: levels.trustedRoot,
    plugins: installed.flatMap(({ state, plugin }) => (state === "enabled" && plugin ? [plugin] : [])),
    settings: chosen.snapshot,
    managedDirectory: place.managedDirectory ?? managedDirectory,
    ...(place.agents === undefined ? {} : { flags: { agents: place.agents } }),
  };
  const read = await loadSnapshot(files, place.previous);
  const unread = trusted ? unreadFiles(levels, cwd) : [];
  const snapshot = unread.length === 0 ? read : { ...read, off: [...read.off, ...unread] };
  const entries = entriesOf(place, { snapshot, settings: chosen });
  const catalog = createCatalog<CatalogAgent>(entries.agents, { replaceBuiltIns: chosen.replaceBuiltIns });
  const diagnostics = [
    ...(problem === undefined ? [] : [recordsProblem(home, problem)]),
    ...installed.filter(({ state }) => state !== "disabled").flatMap((each) => each.diagnostics),
    ...chosen.diagnosticsFor(catalog),
    ...snapshot.diagnostics,
    ...entries.diagnostics,
    ...catalog.diagnostics,
  ];
  const { root, trustedRoot } = levels;
  const { switchedOff } = chosen;
  return { catalog, snapshot, diagnostics, trusted, root, trustedRoot, switchedOff, rules };
}

function settingsOf({ settings, builtIn, ...place }: CatalogPlace): {
  readonly chosen: CatalogSettings;
  readonly rules: readonly Rule[];
} {
  if (settings !== undefined) return { chosen: catalogSettings({ ...settings, problems: [] }, builtIn), rules: [] };
  const { home, cwd, environment, trust } = place;
  const managed = place.managedDirectory === undefined ? {} : { managedDirectory: place.managedDirectory };
  const loaded = readProjectSettings({ home, cwd, environment, trust, ...managed });
  return { chosen: catalogSettings(loaded, builtIn), rules: loaded.rules };
}

/** The built-in ones and those of files, without what the machine's settings decide. */
function entriesOf(
  { home }: CatalogPlace,
  { snapshot, settings }: { readonly snapshot: Snapshot; readonly settings: CatalogSettings },
): { readonly agents: readonly CatalogAgent[]; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const builtIn = builtInAgents(settings.builtIn).map(({ definition, prompt }) => ({
    definition,
    body: () => prompt({ docsDirectory: docsDirectory(), stateDirectory: home }),
  }));
  const agents = [...builtIn, ...snapshot.agents].map((agent): CatalogAgent => {
    const { definition, ignored } = managedDefinition(agent.definition, settings.origins);
    const { file = `(${definition.source}) ${definition.name}` } = definition;
    for (const message of ignored) diagnostics.push({ severity: "notice", file, line: 1, code: "managed", message });
    const limits = settings.builtIn.profile === "compact" ? compactLimits : {};
    return {
      definition: { ...limits, ...definition },
      body: agent.body,
      ...("place" in agent ? { place: agent.place } : {}),
    };
  });
  return { agents, diagnostics };
}

function recordsProblem(home: string, message: string): Diagnostic {
  return { severity: "error", file: home, line: 1, code: "plugins_unreadable", message };
}

interface ManagedDefinition {
  readonly definition: AgentDefinition;
  /** One sentence for each field that has no effect. */
  readonly ignored: readonly string[];
}

/**
 * A definition without what the machine's settings decide: what it does not say, the settings say. Where a definition is
 * stricter (fewer turns, a mode with less freedom) it stays so. Definitions of the same hand are left as they are.
 */
function managedDefinition(definition: AgentDefinition, origins: readonly SettingsOrigin[]): ManagedDefinition {
  const managed = definition.source === "policy" ? [] : origins.filter(({ scope }) => scope === "managed");
  const ignored = Object.entries(fields).flatMap(([field, { path, isStricter }]) => {
    const value = definition[field as keyof typeof fields];
    const origin = managed.find((each) => each.path === path);
    if (value === undefined || origin === undefined || isStricter(value, origin.value)) return [];
    return [{ field, message: `${field} has no effect: ${origin.file} sets ${path} for this machine.` }];
  });
  if (ignored.length === 0) return { definition, ignored: [] };
  const names = new Set(ignored.map(({ field }) => field));
  const kept = Object.fromEntries(Object.entries(definition).filter(([name]) => !names.has(name)));
  return { definition: kept as unknown as AgentDefinition, ignored: ignored.map(({ message }) => message) };
}

interface Field {
  readonly path: string;
  readonly isStricter: (own: unknown, managed: unknown) => boolean;
}

const never = (): boolean => false;

const fields: Readonly<Record<"model" | "effort" | "maxTurns" | "permissionMode", Field>> = {
  model: { path: "model", isStricter: never },
  effort: { path: "effort", isStricter: never },
  maxTurns: { path: "maxTurns", isStricter: (own, managed) => Number(own) <= Number(managed) },
  permissionMode: {
    path: "permissions.defaultMode",
    isStricter: (own, managed) => freedom[own as PermissionMode] <= freedom[managed as PermissionMode],
  },
};

const freedom: Record<PermissionMode, number> = {
  plan: 0,
  dontAsk: 1,
  default: 2,
  acceptEdits: 3,
  bypassPermissions: 4,
};
