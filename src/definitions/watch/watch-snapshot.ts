import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FSWatcher } from "chokidar";
import { describeError, isWithin } from "../../lib/index.ts";
import type { Snapshot } from "../../protocol/index.ts";
import { userFiles } from "../context/read-context-files.ts";
import { loadSnapshot } from "../sources/load-snapshot.ts";
import { ownDirectory, realPath, trustedProjectLevels } from "../sources/project-levels.ts";
import type { SnapshotOptions } from "../sources/snapshot.ts";

export interface WatchOptions extends SnapshotOptions {
  /** Snapshot that the session has already loaded. If undefined, a new one is loaded. */
  readonly initial?: Snapshot | undefined;
  /** Loads a snapshot that depends on more than these options. */
  readonly load?: ((previous?: Snapshot) => Promise<Snapshot>) | undefined;
  /** Further files whose changes lead to a new snapshot. Their directories must be among those that are watched. */
  readonly files?: readonly string[] | undefined;
  /** Called if the system can't watch files. The snapshot then stays as it is until a later change is detected. */
  readonly onProblem?: ((problem: string) => void) | undefined;
}

export interface SnapshotWatch {
  current(): Snapshot;
  close(): Promise<void>;
}

const quietMs = 25;
const longestWaitMs = 100;
/**
 * Delay before a final check after a burst of changes, which is necessary because chokidar does not report a second
 * change to a file within 50 ms.
 */
const settleMs = 100;

/**
 * Calls `onChange` with each new snapshot. A broken file keeps its last good version. Values in the options (settings,
 * flags, plugin files) are not watched, so start a new watch when they change.
 */
export async function watchSnapshot(
  { initial, onProblem = () => {}, load = (previous) => loadSnapshot(options, previous), ...options }: WatchOptions,
  onChange: (snapshot: Snapshot) => void,
): Promise<SnapshotWatch> {
  let current = initial ?? (await load());
  let closed = false;
  let reading: Promise<void> | undefined;
  let due: { readonly since: number; readonly timer: NodeJS.Timeout } | undefined;
  let settle: NodeJS.Timeout | undefined;
  const list = createWatchList(options, current);
  const watcher = await startWatching(list.paths(), { isWanted: list.isWanted, onProblem });
  watcher.on("all", schedule);
  await check();
  return {
    current: () => current,
    async close() {
      closed = true;
      clearTimeout(due?.timer);
      clearTimeout(settle);
      await watcher.close();
      await reading;
    },
  };

  function schedule(): void {
    if (closed) return;
    clearTimeout(due?.timer);
    const now = performance.now();
    const since = due?.since ?? now;
    const wait = Math.max(0, Math.min(quietMs, since + longestWaitMs - now));
    due = { since, timer: setTimeout(begin, wait) };
  }

  function begin(): void {
    if (reading !== undefined) {
      due = { since: due?.since ?? performance.now(), timer: setTimeout(begin, quietMs) };
      return;
    }
    due = undefined;
    clearTimeout(settle);
    settle = setTimeout(() => void check(), settleMs);
    void check();
  }

  /** Loads a new snapshot, unless that is already in progress. Never rejects. */
  function check(): Promise<void> {
    reading ??= refresh()
      .catch((error) => onProblem(describeError(error)))
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  async function refresh(): Promise<void> {
    const next = await load(current);
    if (closed || isSame(next, current)) return;
    current = next;
    watcher.add(list.follow(next));
    onChange(next);
  }
}

function isSame(one: Snapshot, other: Snapshot): boolean {
  return one.hash === other.hash && JSON.stringify(one.diagnostics) === JSON.stringify(other.diagnostics);
}

interface WatcherOptions {
  readonly isWanted: (path: string, isFile: boolean) => boolean;
  readonly onProblem: (problem: string) => void;
}

async function startWatching(paths: string[], { isWanted, onProblem }: WatcherOptions): Promise<FSWatcher> {
  const { watch } = await import("chokidar");
  const watcher = watch(paths, {
    ignored: (path, stats) => !isWanted(path, stats?.isFile() ?? false),
    ignoreInitial: true,
    // The targets of allowed symlinks are watched separately.
    followSymlinks: false,
    ignorePermissionErrors: true,
    // `atomic` would delay removals by 100 ms. Replaced files are recognized by reading them.
    atomic: false,
  });
  watcher.on("error", (error) => onProblem(describeError(error)));
  await new Promise<void>((resolve) => watcher.once("ready", resolve));
  return watcher;
}

interface WatchList {
  /** Returns the directories to watch from the start, including those in which a wanted file may be created. */
  paths(): string[];
  isWanted(path: string, isFile: boolean): boolean;
  /** Returns further files that a new snapshot was read from: imports and targets of links. */
  follow(snapshot: Snapshot): string[];
}

/**
 * Lists the paths that a snapshot is read from, so that nothing else in a large project or home directory is watched.
 */
export function createWatchList(options: SnapshotOptions & Pick<WatchOptions, "files">, snapshot: Snapshot): WatchList {
  const bases = watchedDirectories(options);
  const named = bases.flatMap(({ trees: below }) => below);
  const linked = named.map(realPath).filter((tree, index) => tree !== named[index]);
  const trees = [...named, ...linked];
  const files = new Set([...bases.flatMap(({ files: below }) => below), ...(options.files ?? [])]);
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

interface WatchedDirectory {
  /** Directory that exists. */
  readonly base: string;
  readonly trees: readonly string[];
  readonly files: readonly string[];
}

function watchedDirectories(options: SnapshotOptions): WatchedDirectory[] {
  const home = realPath(ownDirectory(options.home));
  const stateHome = realPath(ownDirectory(options.stateHome));
  const levels = options.trusted ? trustedProjectLevels({ ...options, home }).nearestFirst : [];
  const managed = options.managedDirectory;
  const bases: WatchedDirectory[] = [
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

/**
 * Returns files outside of the watched trees and adds them to `files`, so that changes to them are noticed from now on.
 */
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
