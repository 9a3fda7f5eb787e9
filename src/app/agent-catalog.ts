import { homedir } from "node:os";
import {
  type BuiltInChoice,
  builtInAgents,
  type Catalog,
  type CatalogEntry,
  createCatalog,
  installedPlugins,
  type LoadedAgent,
  loadSnapshot,
  type Snapshot,
} from "../definitions/index.ts";
import type { Diagnostic } from "../protocol/index.ts";
import { createTrustStore } from "../settings/index.ts";
import { docsDirectory } from "./docs-directory.ts";
import type { Environment } from "./places.ts";

export interface CatalogAgent extends CatalogEntry {
  body(): string;
}

export interface AgentCatalog {
  readonly catalog: Catalog<CatalogAgent>;
  readonly snapshot: Snapshot;
  /** Of files, plugins and names together. */
  readonly diagnostics: readonly Diagnostic[];
  readonly trusted: boolean;
}

export interface CatalogPlace {
  /** The real path of the workspace. */
  readonly cwd: string;
  /** The state directory. */
  readonly home: string;
  readonly environment: Environment;
  /** For this once, whatever the store says. */
  readonly trust: boolean;
  /** Agents given with this call, by name. */
  readonly agents?: Readonly<Record<string, unknown>>;
  /** Which of the built-in agents there are. */
  readonly builtIn?: BuiltInChoice;
}

/** Every agent there is for a workspace: built in, of plugins, the user and, as far as it is trusted, the project. */
export async function loadAgentCatalog(place: CatalogPlace): Promise<AgentCatalog> {
  const { cwd, home, environment, trust } = place;
  const trusted = trust || createTrustStore({ stateHome: home }).isTrusted(cwd);
  const { plugins: installed, problem } = installedPlugins(home);
  const plugins = installed.flatMap(({ state, plugin }) => (state === "enabled" && plugin ? [plugin] : []));
  const userHome = environment["HOME"] || homedir();
  const flags = place.agents === undefined ? {} : { flags: { agents: place.agents } };
  const snapshot = await loadSnapshot({ cwd, home: userHome, stateHome: home, trusted, plugins, ...flags });
  const builtIn = builtInAgents(place.builtIn).map(({ definition, prompt }) => ({
    definition,
    body: () => prompt({ docsDirectory: docsDirectory(), stateDirectory: home }),
  }));
  const catalog = createCatalog<CatalogAgent>([...builtIn, ...snapshot.agents.map(fromFile)]);
  const ofPlugins = installed.filter(({ state }) => state !== "disabled").flatMap(({ diagnostics }) => diagnostics);
  const ofRecords = problem === undefined ? [] : [recordsProblem(home, problem)];
  const diagnostics = [...ofRecords, ...ofPlugins, ...snapshot.diagnostics, ...catalog.diagnostics];
  return { catalog, snapshot, diagnostics, trusted };
}

function fromFile({ definition, place, body }: LoadedAgent): CatalogAgent {
  return { definition, place, body };
}

function recordsProblem(home: string, message: string): Diagnostic {
  return { severity: "error", file: home, line: 1, code: "plugins_unreadable", message };
}
