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
import { type Approval, createTrustStore, type LoadedSettings, managedDirectory } from "../../settings/index.ts";
import { readProjectSettings, trustedLevels, unreadFiles } from "../../worker/index.ts";
import type { Environment } from "../directories.ts";
import { docsDirectory } from "../directories.ts";
import { type ApprovedDirectory, approvedDefinition } from "./approved-definition.ts";
import { type CatalogSettings, catalogSettings, type SwitchedOff } from "./catalog-settings.ts";
import { guidePrompt, isGuide } from "./guide.ts";

export interface CatalogAgent extends CatalogEntry {
  body(): string;
}

export interface AgentCatalog {
  readonly catalog: Catalog<CatalogAgent>;
  readonly snapshot: Snapshot;
  /** Problems in files, plugins, settings and names. */
  readonly diagnostics: readonly Diagnostic[];
  /** True if the project's files are used. */
  readonly trusted: boolean;
  /** Files and directories that were not read because they are not trusted, relative to the workspace. */
  readonly off: readonly string[];
  /** Topmost trusted directory of the project. */
  readonly trustedRoot?: string | undefined;
  /** Root of the project. */
  readonly root: string;
  readonly switchedOff: readonly SwitchedOff[];
  /** Rules from the settings files; empty if the caller supplied the settings. */
  readonly rules: readonly Rule[];
  /**
   * Hooks and MCP servers in the workspace's own agent files that would be approved if the workspace were trusted now.
   */
  readonly approvals: readonly Approval[];
}

export interface CatalogOptions {
  /** Real path of the workspace. */
  readonly cwd: string;
  /** State directory. */
  readonly home: string;
  readonly environment: Environment;
  /** Trusts the workspace with the current content of its files, even if the user has not trusted it. */
  readonly trust: boolean;
  /**
   * Hooks and MCP servers in agent files that `trust` approves; if absent, all that the workspace contains now. A
   * session that reads the files again passes the approvals with which it began, because agents may have changed the
   * files.
   */
  readonly approvals?: readonly Approval[] | undefined;
  /** Agents that the caller defines, by name. */
  readonly agents?: Readonly<Record<string, unknown>> | undefined;
  /** Which built-in agents to load. */
  readonly builtIn?: BuiltInChoice;
  /** Settings that are already loaded; if absent, the settings files are read. */
  readonly settings?:
    | (Pick<LoadedSettings, "agents" | "origins" | "settings"> & { readonly trust?: boolean | undefined })
    | undefined;
  readonly managedDirectory?: string | undefined;
  /** Files as they were last read. They replace files that are incomplete now. */
  readonly previous?: Snapshot | undefined;
}

/**
 * Loads the agents of a workspace: built-in agents, and those from plugins, the user's files and the trusted part of
 * the project.
 */
export async function loadAgentCatalog(options: CatalogOptions): Promise<AgentCatalog> {
  const { cwd, home, environment, trust } = options;
  const userHome = environment["HOME"] || homedir();
  const store = createTrustStore({ stateHome: home });
  const levels = trustedLevels({ cwd, userHome, store, trust });
  const trusted = levels.trustedRoot !== undefined;
  const { chosen, rules } = readCatalogSettings(options);
  const { plugins: installed, problem } = installedPlugins(home);
  const files = {
    cwd,
    home: userHome,
    stateHome: home,
    trusted,
    trustedRoot: levels.trustedRoot,
    plugins: installed.flatMap(({ state, plugin }) => (state === "enabled" && plugin ? [plugin] : [])),
    settings: chosen.snapshot,
    managedDirectory: options.managedDirectory ?? managedDirectory,
    flags: options.agents && { agents: options.agents },
  };
  const snapshot = await loadSnapshot(files, options.previous);
  // In the home directory, these files are the user's own.
  const off = cwd === userHome ? [] : unreadFiles(levels, cwd);
  const directories = levels.nearestFirst.map(({ path }): ApprovedDirectory => {
    const isWorkspace = path === cwd;
    const vouchedFor = isWorkspace && trust ? options.approvals : [];
    if (vouchedFor === undefined) return { path, isWorkspace };
    const approved = [...vouchedFor, ...store.approvals(path)];
    const approvedHashes: ApprovedDirectory["approvedHashes"] = (kind, name) =>
      approved.flatMap((each) => (each.kind === kind && each.name === name ? [each.hash] : []));
    return { path, isWorkspace, approvedHashes };
  });
  const entries = catalogEntries(options, { snapshot, settings: chosen, directories });
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
  const { approvals } = entries;
  return { catalog, snapshot, diagnostics, trusted, off, root, trustedRoot, switchedOff, rules, approvals };
}

function readCatalogSettings({ settings, builtIn, ...options }: CatalogOptions): {
  readonly chosen: CatalogSettings;
  readonly rules: readonly Rule[];
} {
  if (settings !== undefined) return { chosen: catalogSettings({ ...settings, problems: [] }, builtIn), rules: [] };
  const { home, cwd, environment, trust } = options;
  const loaded = readProjectSettings({ home, cwd, environment, trust, managedDirectory: options.managedDirectory });
  return { chosen: catalogSettings(loaded, builtIn), rules: loaded.rules };
}

interface EntryParts {
  readonly snapshot: Snapshot;
  readonly settings: CatalogSettings;
  /** Directories of the project, from the workspace up. */
  readonly directories: readonly ApprovedDirectory[];
}

interface Entries {
  readonly agents: readonly CatalogAgent[];
  readonly diagnostics: readonly Diagnostic[];
  readonly approvals: readonly Approval[];
}

/**
 * Returns built-in agents and those from files, without fields that managed settings override and without hooks and MCP
 * servers that the user did not approve.
 */
function catalogEntries({ home }: CatalogOptions, { snapshot, settings, directories }: EntryParts): Entries {
  const diagnostics: Diagnostic[] = [];
  const approvals: Approval[] = [];
  const builtIn = builtInAgents(settings.builtIn).map(({ definition, prompt }) => ({
    definition,
    body: () => {
      const text = prompt({ docsDirectory: docsDirectory(), stateDirectory: home });
      return isGuide(definition) ? guidePrompt(text, home) : text;
    },
  }));
  const fromFiles = snapshot.agents.map(({ definition, place, body }) => {
    // Agents in the project's settings are approved together with those settings.
    if (definition.source !== "project" || place.form === "settings") return { definition, place, body };
    const directory = directories[place.distance]!;
    const approved = approvedDefinition(definition, directory);
    diagnostics.push(...approved.diagnostics);
    if (directory.isWorkspace) approvals.push(...approved.approvals);
    return { definition: approved.definition, place, body };
  });
  const agents = [...builtIn, ...fromFiles].map((agent): CatalogAgent => {
    const { definition, ignored } = managedDefinition(agent.definition, settings.origins);
    const { file = `(${definition.source}) ${definition.name}` } = definition;
    for (const message of ignored) diagnostics.push({ severity: "notice", file, line: 1, code: "managed", message });
    const limits = settings.builtIn.profile === "compact" ? compactLimits : {};
    const place = "place" in agent ? agent.place : undefined;
    return { definition: { ...limits, ...definition }, body: agent.body, place };
  });
  return { agents, diagnostics, approvals };
}

function recordsProblem(home: string, message: string): Diagnostic {
  return { severity: "error", file: home, line: 1, code: "plugins_unreadable", message };
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
