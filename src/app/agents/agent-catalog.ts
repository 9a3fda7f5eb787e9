import {
  type BuiltInChoice,
  builtInAgents,
  type Catalog,
  type CatalogEntry,
  compactLimits,
  createCatalog,
} from "../../definitions/index.ts";
import type { WorkerFacts, WorkerPort } from "../../ports/index.ts";
import type {
  AgentDefinition,
  Diagnostic,
  LoadedSettings,
  PermissionMode,
  ProjectSnapshot,
  Rule,
  SettingsOrigin,
} from "../../protocol/index.ts";
import { docsDirectory, readProject } from "../../worker/index.ts";
import type { Environment } from "../directories.ts";
import { type CatalogSettings, catalogSettings, type SwitchedOff } from "./catalog-settings.ts";
import { guidePrompt, isGuide } from "./guide.ts";

export interface CatalogAgent extends CatalogEntry {
  body(): string;
}

export interface AgentCatalog {
  readonly catalog: Catalog<CatalogAgent>;
  readonly snapshot: ProjectSnapshot;
  /** Problems in files, plugins, settings and names. */
  readonly diagnostics: readonly Diagnostic[];
  readonly switchedOff: readonly SwitchedOff[];
  /** Rules from the settings files; empty if the caller supplied the settings. */
  readonly rules: readonly Rule[];
}

/** Agent settings that are already loaded. */
export type LoadedCatalogSettings = Pick<LoadedSettings, "agents" | "origins" | "settings"> & {
  readonly trust?: boolean | undefined;
};

export interface CatalogOptions {
  /** Real path of the workspace. */
  readonly cwd: string;
  /** Worker that owns the workspace, if it is on another machine. */
  readonly worker?: Pick<WorkerPort, "snapshot" | "describe"> | undefined;
  /** State directory. */
  readonly home: string;
  readonly environment: Environment;
  /** Trusts the workspace with the current content of its files, even if the user has not trusted it. */
  readonly trust: boolean;
  /** Agents that the caller defines, keyed by name. */
  readonly agents?: Readonly<Record<string, unknown>> | undefined;
  /** Settings that are already loaded; if absent, the settings files are read. */
  readonly settings?: LoadedCatalogSettings | undefined;
  readonly managedDirectory?: string | undefined;
}

/**
 * Loads a workspace's agents: built-in agents, and those from plugins, the user's files and the trusted part of the
 * project. `change` modifies the snapshot after it is read, to preview the effect of editing a file.
 */
export async function loadAgentCatalog(
  options: CatalogOptions,
  change: (snapshot: ProjectSnapshot) => ProjectSnapshot = (snapshot) => snapshot,
): Promise<AgentCatalog> {
  const { cwd: root, home, environment, trust, agents, settings, managedDirectory, worker } = options;
  const request = { trust, agents, settings: settings?.agents, required: true };
  if (worker !== undefined) {
    const answer = await worker.snapshot(request);
    if (!answer.changed) throw new Error("The worker did not send its snapshot.");
    return createAgentCatalog(change(answer.snapshot), { settings, facts: worker.describe() });
  }
  const { snapshot } = await readProject({ root, home, environment, managedDirectory }, request);
  return createAgentCatalog(change(snapshot), {
    settings,
    facts: { stateDirectory: home, docsDirectory: docsDirectory() },
  });
}

export interface AgentCatalogOptions {
  /** Settings that the snapshot does not contain, because they are already loaded. */
  readonly settings?: LoadedCatalogSettings | undefined;
  /** Which built-in agents to load. */
  readonly builtIn?: BuiltInChoice;
  /** Names of tools that the program defines. */
  readonly ownTools?: readonly string[] | undefined;
  /** Facts about the machine where the files are. */
  readonly facts: Pick<WorkerFacts, "docsDirectory" | "stateDirectory">;
}

/** Combines a snapshot's agents with the built-in agents. */
export function createAgentCatalog(snapshot: ProjectSnapshot, options: AgentCatalogOptions): AgentCatalog {
  const { settings = snapshot.settings ?? noSettings, builtIn, ownTools = [] } = options;
  const { problems = [], rules = [] } = snapshot.settings ?? {};
  const chosen = catalogSettings({ ...settings, problems }, builtIn);
  const entries = catalogEntries(snapshot, chosen, options);
  const catalog = createCatalog<CatalogAgent>(entries.agents, { replaceBuiltIns: chosen.replaceBuiltIns });
  const diagnostics = [
    ...chosen.diagnosticsFor(catalog),
    ...snapshot.diagnostics.filter(({ tool }) => tool === undefined || !ownTools.includes(tool)),
    ...entries.diagnostics,
    ...catalog.diagnostics,
  ];
  const { switchedOff } = chosen;
  return { catalog, snapshot, diagnostics, switchedOff, rules };
}

const noSettings: LoadedCatalogSettings = {
  agents: { definitions: [], directories: "first", replaceBuiltIns: [], switchedOff: [] },
  origins: [],
  settings: {},
};

interface Entries {
  readonly agents: readonly CatalogAgent[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Returns built-in agents and agents from files. Removes fields that managed settings override. */
function catalogEntries(
  snapshot: ProjectSnapshot,
  settings: CatalogSettings,
  { facts }: Pick<AgentCatalogOptions, "facts">,
): Entries {
  const diagnostics: Diagnostic[] = [];
  const builtIn = builtInAgents(settings.builtIn).map(({ definition, prompt }) => ({
    definition,
    place: undefined,
    body: () => (isGuide(definition) ? guidePrompt(prompt(facts), snapshot.settingsText) : prompt(facts)),
  }));
  const fromFiles = snapshot.agents.map((agent) => {
    const { definition, place } = agent;
    return { definition, place, body: () => agent.body };
  });
  const limits = settings.builtIn.profile === "compact" ? compactLimits : {};
  const agents = [...builtIn, ...fromFiles].map(({ definition: given, place, body }): CatalogAgent => {
    const { definition, ignored } = managedDefinition(given, settings.origins);
    const { file = `(${definition.source}) ${definition.name}` } = definition;
    for (const message of ignored) diagnostics.push({ severity: "notice", file, line: 1, code: "managed", message });
    return { definition: { ...limits, ...definition }, body, place };
  });
  return { agents, diagnostics };
}

interface ManagedDefinition {
  readonly definition: AgentDefinition;
  /** One message for each field that has no effect. */
  readonly ignored: readonly string[];
}

/**
 * Removes fields that managed settings override, unless the definition is stricter: fewer turns, or a stricter mode.
 * The administrator's own definitions stay unchanged.
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
