import { type Dirent, lstatSync, readdirSync, type Stats } from "node:fs";
import { setImmediate as nextImmediate } from "node:timers/promises";
import { isWithin } from "../../lib/index.ts";
import { hardLinkOf } from "./file-stat.ts";

export interface NameBounds {
  readonly entries: number;
  readonly milliseconds: number;
}

const usualBounds: NameBounds = { entries: 300_000, milliseconds: 3_000 };

/** Finds the names that files have below some directories, as `Workspace.findNames` describes. */
export async function findNames(
  hardLinks: readonly string[],
  directories: readonly string[],
  { entries, milliseconds }: NameBounds = usualBounds,
): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  const names = new Map<string, string[]>(hardLinks.map((hardLink) => [hardLink, []]));
  const left = directories.filter(
    (path, index) => !directories.some((other, at) => isWithin(path, other) && (other !== path || at < index)),
  );
  const until = performance.now() + milliseconds;
  let examined = 0;
  const note = (path: string): void => {
    names.get(hardLinkOf(statOf(path)) ?? "")?.push(path);
  };
  for (const path of left) note(path);
  for (let directory = left.pop(); directory !== undefined; directory = left.pop()) {
    for (const entry of entriesOf(directory)) {
      const path = directory === "/" ? `/${entry.name}` : `${directory}/${entry.name}`;
      if (entry.isDirectory()) left.push(path);
      else if (entry.isFile()) note(path);
      examined += 1;
      if (examined % 5_000 === 0) await nextImmediate();
    }
    if (examined > entries || performance.now() > until) return undefined;
  }
  return names;
}

/** Returns the entries of a directory; an empty list if Retinue, and therefore a command, can't read it. */
function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
