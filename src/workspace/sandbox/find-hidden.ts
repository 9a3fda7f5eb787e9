import { lstatSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextImmediate } from "node:timers/promises";
import { isWithin } from "../../lib/index.ts";

export interface SearchBounds {
  readonly entries: number;
  readonly milliseconds: number;
  /** Maximum number of paths to hide, because each path needs a mount. */
  readonly found: number;
}

const usualBounds: SearchBounds = { entries: 300_000, milliseconds: 3_000, found: 500 };

/**
 * Finds the files and directories that a predicate hides, the targets of hidden symlinks, and other hard links to
 * hidden files. Returns undefined if a limit is exceeded.
 */
export async function findHidden(
  directories: readonly string[],
  hidden: (path: string) => boolean,
  bounds: SearchBounds = usualBounds,
): Promise<readonly string[] | undefined> {
  const tops = [...new Set(directories)].filter(
    (path, _, all) => !all.some((other) => other !== path && isWithin(path, other)),
  );
  // Hiding a parent of a searched directory would hide everything.
  const canHide = (path: string): boolean => !tops.some((top) => isWithin(top, path));
  const until = performance.now() + bounds.milliseconds;
  const files: string[] = [];
  const found = new Set<string>();
  let examined = 0;
  const left = [...tops];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (hidden(path)) {
      found.add(path);
      continue;
    }
    for (const entry of entriesOf(path)) {
      const own = path === "/" ? `/${entry.name}` : `${path}/${entry.name}`;
      examined += 1;
      if (hidden(own)) {
        const target = entry.isSymbolicLink() ? targetOf(own) : own;
        if (target !== undefined && canHide(target)) found.add(target);
      } else if (entry.isDirectory()) left.push(own);
      else if (entry.isFile()) files.push(own);
      if (examined % 5_000 === 0) await nextImmediate();
    }
    if (examined > bounds.entries || found.size > bounds.found || performance.now() > until) return undefined;
  }
  for (const path of otherLinks(found, files)) found.add(path);
  return found.size > bounds.found ? undefined : [...found];
}

/**
 * Returns the files that are hard links to a hidden file. Examines files only if a hidden file has more than one link.
 */
function otherLinks(hidden: ReadonlySet<string>, files: readonly string[]): readonly string[] {
  const linked = new Set(
    [...hidden]
      .flatMap(filesAt)
      .filter(({ nlink }) => nlink > 1)
      .map(identity),
  );
  if (linked.size === 0) return [];
  return files.filter((path) => {
    const stat = statOf(path);
    return stat !== undefined && stat.nlink > 1 && linked.has(identity(stat));
  });
}

function filesAt(path: string): readonly Stats[] {
  const stat = statOf(path);
  if (stat === undefined) return [];
  return stat.isDirectory() ? entriesOf(path).flatMap(({ name }) => filesAt(join(path, name))) : [stat];
}

function identity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    // If Retinue can't read a directory, the command can't read it either.
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

function targetOf(link: string): string | undefined {
  try {
    return realpathSync.native(link);
  } catch {
    return undefined;
  }
}
