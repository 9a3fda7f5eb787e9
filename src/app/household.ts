import type { AgentMemory } from "../agents/index.ts";
import { type BuiltInChoice, builtInAgents, createCatalog, type Snapshot } from "../definitions/index.ts";
import type { Skills } from "../ports/index.ts";
import type { AgentDefinition } from "../protocol/index.ts";
import type { AgentCallback } from "./define-agent.ts";
import { docsDirectory } from "./docs-directory.ts";

/** The agents of a session that work can be given to. */
export interface Household {
  readonly definitions: readonly AgentDefinition[];
  /** Everything the agent of this name, or of an alias, is made of. */
  find(name: string): HouseholdAgent | undefined;
  /** The names most likely meant, best first; ten unless told otherwise. */
  nearest(name: string, max?: number): readonly string[];
  /** What was read of files; absent where nothing was. */
  readonly snapshot?: Snapshot | undefined;
  /** The skills that its agents can call for; absent where there are none. */
  readonly shelf?: Skills;
  /** Reads the files again. What runs already keeps what it began with. */
  renew?(): Promise<void>;
}

/** A household that can be read again; what can't be read now leaves it as it was. The list of its skills stays, for the cache. */
export function renewable(first: Household, read: (before: Household) => Promise<Household>): Household {
  let current = first;
  const { shelf } = first;
  const load: Skills["load"] = async (name) =>
    current.shelf?.load(name) ?? { ok: false, message: "There are no skills any more. Go on without." };
  return {
    ...(shelf === undefined ? {} : { shelf: { list: () => shelf.list(), load } }),
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

export interface HouseholdAgent {
  readonly definition: AgentDefinition;
  /** For one who works in this directory. Throws where a program writes it and fails. */
  prompt(cwd: string): string;
  /** What a program wants to do after each of its runs. */
  readonly callback?: AgentCallback;
  /** Those its definition names: they stand in its prompt. */
  readonly skills: readonly { readonly name: string; readonly text: string }[];
  readonly memory?: AgentMemory;
  readonly projectContext?: string;
  /** What it may read beyond the workspace. */
  readonly readableRoots: readonly string[];
  readonly notices: readonly string[];
}

/** Where no file can say anything about agents: the built-in ones alone, without the reading of definitions. */
export function builtInHousehold(stateDirectory: string, choice: BuiltInChoice): Household {
  const environment = { docsDirectory: docsDirectory(), stateDirectory };
  const catalog = createCatalog(builtInAgents(choice));
  return {
    definitions: catalog.agents.map(({ definition }) => definition),
    nearest: catalog.nearest,
    find: (name) => {
      const found = catalog.find(name)?.agent;
      if (found === undefined) return undefined;
      const { definition, prompt } = found;
      const readableRoots = isGuide(definition) ? [environment.docsDirectory] : [];
      return { definition, prompt: () => prompt(environment), skills: [], readableRoots, notices: [] };
    },
  };
}

export function isGuide({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === "retinue-guide";
}
