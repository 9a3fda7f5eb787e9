import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { userFiles } from "../context/read-context-files.ts";
import { isWithin, ownDirectory, realPath, trustedProjectLevels } from "../sources/project-levels.ts";
import type { Snapshot, SnapshotOptions } from "../sources/snapshot.ts";

export interface WatchList {
  /** Directories to watch from the start: also those in which something wanted may come to be. */
  paths(): string[];
  isWanted(path: string, isFile: boolean): boolean;
  /** What a new snapshot was read from beyond that: imports, and where links lead. */
  follow(snapshot: Snapshot): string[];
}

/** Names what a snapshot is read from, so that no more of a large project or home is watched than that. */
export function createWatchList(options: SnapshotOptions, snapshot: Snapshot): WatchList {
  const bases = basesOf(options);
  const named = bases.flatMap(({ trees: below }) => below);
  const linked = named.map(realPath).filter((tree, index) => tree !== named[index]);
  const trees = [...named, ...linked];
  const files = new Set(bases.flatMap(({ files: below }) => below));
  const followed = linkedFiles(snapshot, { trees, files });
  return {
    paths: () => [...new Set([...bases.map(({ base }) => base), ...linked, ...followed])],
    isWanted(path, isFile) {
      if (files.has(path)) return true;
      for (const file of files) if (isWithin(file, path)) return true;
      return trees.some((tree) => isWithin(tree, path) || (isWithin(path, tree) && (!isFile || /\.md$/i.test(path))));
    },
    follow: (next) => linkedFiles(next, { trees, files }),
  };
}

interface Base {
  /** Exists. */
  readonly base: string;
  readonly trees: readonly string[];
  readonly files: readonly string[];
}

function basesOf(options: SnapshotOptions): Base[] {
  const home = realPath(ownDirectory(options.home));
  const stateHome = realPath(ownDirectory(options.stateHome));
  const levels = options.trusted ? trustedProjectLevels({ ...options, home }).nearestFirst : [];
  const managed = options.managedDirectory;
  const bases: Base[] = [
    { base: home, trees: treesOf(home), files: userFiles({ home, stateHome }) },
    ...levels.map((base) => ({
      base,
      trees: treesOf(base),
      files: [join(base, "AGENTS.md"), join(base, "CLAUDE.md")],
    })),
  ];
  bases.push({ base: stateHome, trees: [], files: [] });
  if (managed !== undefined) {
    bases.push({ base: realPath(managed), trees: folders.map((folder) => join(realPath(managed), folder)), files: [] });
  }
  return bases.filter(({ base }) => existsSync(base));
}

const folders = ["agents", "skills"];

function treesOf(base: string): string[] {
  return [".agents", ".claude"].flatMap((outer) => folders.map((folder) => join(base, outer, folder)));
}

/** Adds to `files`, so that they are wanted from now on. */
function linkedFiles(
  { agents, skills, contextFiles }: Snapshot,
  { trees, files }: { trees: readonly string[]; files: Set<string> },
): string[] {
  const read = [...agents, ...skills].flatMap(({ definition }) => definition.file ?? []);
  const beyond = new Set<string>();
  for (const file of [...read, ...contextFiles.map(({ file: each }) => each)]) {
    const real = realPath(file);
    const known = files.has(real) || trees.some((tree) => isWithin(real, tree));
    if (known || !existsSync(dirname(real))) continue;
    files.add(real);
    beyond.add(real);
  }
  return [...beyond];
}
