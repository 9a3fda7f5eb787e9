import { accessSync, constants, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { describeError } from "../../lib/index.ts";
import { type MemoryPlace, memoryDirectory, memoryIndex } from "./memory-index.ts";

export type OpenedMemory =
  | {
      readonly ok: true;
      /** Absolute and real: no link on the way. It need not exist: the first write makes it. */
      readonly directory: string;
      readonly index?: string;
      /** There is more in the index than this. */
      readonly cut?: boolean;
    }
  | { readonly ok: false; readonly problem: string };

/** Where an agent's memory is and what its index says. Writes nothing, never throws. */
export function openMemory(place: MemoryPlace): OpenedMemory {
  // What stands below where the program happens to run may be anybody's.
  if (!isAbsolute(place.stateHome)) return { ok: false, problem: `${place.stateHome} is not an absolute path` };
  const stateHome = settled(place.stateHome);
  const projectRoot = settled(place.projectRoot);
  const directory = memoryDirectory({ ...place, stateHome, projectRoot });
  const base = place.scope === "user" ? stateHome : projectRoot;
  const problem = obstacle(directory, base);
  if (problem !== undefined) return { ok: false, problem };
  const file = join(directory, "MEMORY.md");
  // Otherwise the agent would be told that nothing is noted yet.
  if (!isReadable(file)) return { ok: false, problem: `${file} is not a file that can be read` };
  const index = memoryIndex({ directory, within: base });
  return { ok: true, directory, ...(index && { index: index.text, cut: index.cut }) };
}

/** A link could lead anywhere, and a project can bring one: the agent would write there without being asked. */
function obstacle(directory: string, base: string): string | undefined {
  if (directory === base) return undefined;
  const above = obstacle(dirname(directory), base);
  if (above !== undefined) return above;
  try {
    const stats = lstatSync(directory, { throwIfNoEntry: false });
    if (stats === undefined || stats.isDirectory()) return undefined;
    return stats.isSymbolicLink() ? `${directory} is a link` : `${directory} is not a directory`;
  } catch (error) {
    return describeError(error);
  }
}

/** Also where there is nothing. */
function isReadable(file: string): boolean {
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return true;
    accessSync(file, constants.R_OK);
    return stats.isFile();
  } catch {
    return false;
  }
}

/** The real path, also of what does not exist yet. */
function settled(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(settled(parent), basename(path));
  }
}
