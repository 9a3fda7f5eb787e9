import { type BuiltInChoice, builtInAgents, createCatalog, type Snapshot } from "../../definitions/index.ts";
import type { Skills } from "../../ports/index.ts";
import type { AvailableAgents } from "../../runs/index.ts";
import { docsDirectory, existingPaths } from "../directories.ts";
import { guidePrompt, isGuide } from "./guide.ts";

/** The agents that files, settings and the program make available, and their skills. */
export interface LoadedAgents extends AvailableAgents {
  /** Content of the files that were read; absent if no files were read. */
  readonly snapshot?: Snapshot | undefined;
  /** Skills that agents can call; absent if there are none. */
  readonly skillCatalog?: Skills | undefined;
  /** Messages about the project's agents that may not do what the user expects. */
  readonly warnings?: readonly string[] | undefined;
  /** Reads the files again. Running agents keep their definitions. */
  reload?(): Promise<void>;
}

/**
 * Makes agents reloadable. If reading fails, they stay as they were. The list of skills never changes, so that requests
 * can be cached.
 */
export function reloadable(first: LoadedAgents, read: (before: LoadedAgents) => Promise<LoadedAgents>): LoadedAgents {
  let current = first;
  const { skillCatalog } = first;
  const load: Skills["load"] = async (name) =>
    current.skillCatalog?.load(name) ?? { ok: false, message: "All skills were removed. Continue without them." };
  return {
    skillCatalog: skillCatalog && { list: () => skillCatalog.list(), load },
    get snapshot() {
      return current.snapshot;
    },
    get definitions() {
      return current.definitions;
    },
    get warnings() {
      return current.warnings;
    },
    find: (name) => current.find(name),
    nearest: (name, max) => current.nearest(name, max),
    reload: async () => {
      current = await read(current).catch(() => current);
    },
  };
}

/** Returns only the built-in agents, for a session that reads no files. */
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
      if (!isGuide(definition))
        return { definition, prompt: () => prompt(environment), skills: [], readableRoots: [], notices: [] };
      const readableRoots = existingPaths([docsDirectory()]);
      const text = () => guidePrompt(prompt(environment), stateDirectory);
      return { definition, prompt: text, skills: [], readableRoots, notices: [] };
    },
  };
}
