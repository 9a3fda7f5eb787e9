import { type BuiltInChoice, builtInAgents, createCatalog, type Snapshot } from "../../definitions/index.ts";
import type { Skills } from "../../ports/index.ts";
import type { AgentDefinition } from "../../protocol/index.ts";
import type { AvailableAgents } from "../../runs/index.ts";
import { docsDirectory, existingDirectories } from "../places.ts";

/** The agents that files, settings and the program make available, and their skills. */
export interface LoadedAgents extends AvailableAgents {
  /** What was read from files; absent if nothing was. */
  readonly snapshot?: Snapshot | undefined;
  /** Skills that agents can call; absent if there are none. */
  readonly shelf?: Skills | undefined;
  /** Reads the files again. Running agents keep what they started with. */
  renew?(): Promise<void>;
}

/** Makes agents that can be read again. If reading fails, they stay as they were. The list of skills stays, for the cache. */
export function renewable(first: LoadedAgents, read: (before: LoadedAgents) => Promise<LoadedAgents>): LoadedAgents {
  let current = first;
  const { shelf } = first;
  const load: Skills["load"] = async (name) =>
    current.shelf?.load(name) ?? { ok: false, message: "All skills were removed. Continue without them." };
  return {
    shelf: shelf && { list: () => shelf.list(), load },
    get snapshot() {
      return current.snapshot;
    },
    get definitions() {
      return current.definitions;
    },
    find: (name) => current.find(name),
    nearest: (name, max) => current.nearest(name, max),
    renew: async () => {
      current = await read(current).catch(() => current);
    },
  };
}

/** The built-in agents alone, for a session without agent files: the code that reads definitions is not loaded. */
export function builtInAgentsOnly(stateDirectory: string, choice: BuiltInChoice): LoadedAgents {
  const environment = { docsDirectory: docsDirectory(), stateDirectory };
  const catalog = createCatalog(builtInAgents(choice));
  return {
    definitions: catalog.agents.map(({ definition }) => definition),
    nearest: catalog.nearest,
    find: (name) => {
      const found = catalog.find(name)?.agent;
      if (found === undefined) return undefined;
      const { definition, prompt } = found;
      const readableRoots = isGuide(definition) ? existingDirectories([environment.docsDirectory]) : [];
      return { definition, prompt: () => prompt(environment), skills: [], readableRoots, notices: [] };
    },
  };
}

export function isGuide({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === "retinue-guide";
}
