import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { WalkedPath, WalkOptions } from "../../ports/index.ts";
import { codeOf, kindOf } from "./file-stat.ts";

const MAX_ENTRIES = 20_000;
const MAX_MILLISECONDS = 1_000;
/** Number of entries after which other work gets its turn. */
const SLICE = 1_000;

/** Lists what is below a path, as `Workspace.walk` describes. */
export async function walkDirectory(
  start: string,
  { follows, skipsHidden }: WalkOptions,
): Promise<readonly WalkedPath[] | undefined> {
  const deadline = Date.now() + MAX_MILLISECONDS;
  const found: WalkedPath[] = [];
  const waiting = [start];
  const visited = new Set<string>();
  try {
    const stats = lstatSync(start, { throwIfNoEntry: false });
    if (stats !== undefined && !stats.isDirectory()) return [{ path: start, kind: kindOf(stats) }];
    for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
      const real = follows ? realpathSync.native(directory) : directory;
      if (visited.has(real)) continue;
      visited.add(real);
      for (const entry of entriesOf(directory)) {
        if (skipsHidden && entry.name.startsWith(".")) continue;
        const path = join(directory, entry.name);
        if (entry.isSymbolicLink()) found.push({ path, kind: "link" });
        else found.push({ path, kind: kindOf(entry) });
        if (entry.isDirectory() || (follows && entry.isSymbolicLink() && isDirectory(path))) waiting.push(path);
        if (found.length > MAX_ENTRIES || Date.now() > deadline) return undefined;
        if (found.length % SLICE === 0) await setImmediate();
      }
    }
    return found;
  } catch {
    return undefined;
  }
}

/** Returns the entries of a directory; none if it has just been removed. */
function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}

function isDirectory(link: string): boolean {
  try {
    return statSync(link, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}
