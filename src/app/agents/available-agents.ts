import type { Skills } from "../../ports/index.ts";
import type { Snapshot } from "../../protocol/index.ts";
import type { AvailableAgents } from "../../runs/index.ts";

/** Agents that files, settings and the program define, and their skills. */
export interface LoadedAgents extends AvailableAgents {
  /** Content of the files that were read. */
  readonly snapshot?: Snapshot | undefined;
  /** Skills that agents can call; absent if there are none. */
  readonly skillCatalog?: Skills | undefined;
  /** Warnings about the project's agents, for example that one of them replaces a built-in agent. */
  readonly warnings?: readonly string[] | undefined;
  /** Reads the files again. Running agents keep their definitions. */
  reload?(): Promise<void>;
}

/**
 * Makes agents reloadable. `read` returns undefined if nothing has changed. If reading fails, the agents stay as they
 * were.
 */
export function reloadable(
  first: LoadedAgents,
  read: (before: LoadedAgents) => Promise<LoadedAgents | undefined>,
): LoadedAgents {
  let current = first;
  const { skillCatalog } = first;
  const load: Skills["load"] = async (name) =>
    current.skillCatalog?.load(name) ?? { ok: false, message: "All skills were removed. Continue without them." };
  return {
    skillCatalog: skillCatalog && { list: () => current.skillCatalog?.list() ?? "", load },
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
      current = (await read(current).catch(() => undefined)) ?? current;
    },
  };
}
