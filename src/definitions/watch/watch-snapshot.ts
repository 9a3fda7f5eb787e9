import type { FSWatcher } from "chokidar";
import { describeError } from "../../lib/index.ts";
import { loadSnapshot } from "../sources/load-snapshot.ts";
import type { Snapshot, SnapshotOptions } from "../sources/snapshot.ts";
import { createWatchList } from "./watch-list.ts";

export interface WatchOptions extends SnapshotOptions {
  /** What the session has loaded already; read anew when absent. */
  readonly initial?: Snapshot;
  /** The system does not let us watch; the snapshot stays as it is until the next change that is seen. */
  readonly onProblem?: (problem: string) => void;
}

export interface SnapshotWatch {
  current(): Snapshot;
  close(): Promise<void>;
}

const quietMs = 25;
const longestWaitMs = 100;
/** A last look after a burst: chokidar does not report a second change of one file within 50 ms. */
const settleMs = 100;

/**
 * Calls `onChange` with each new snapshot. A file that is broken keeps its last good version. What was given as a value
 * (settings, flags, the files of plugins) is not watched: whoever gave it starts a new watch.
 */
export async function watchSnapshot(
  { initial, onProblem = () => {}, ...options }: WatchOptions,
  onChange: (snapshot: Snapshot) => void,
): Promise<SnapshotWatch> {
  let current = initial ?? (await loadSnapshot(options));
  let closed = false;
  let reading: Promise<void> | undefined;
  let due: { readonly since: number; readonly timer: NodeJS.Timeout } | undefined;
  let settle: NodeJS.Timeout | undefined;
  const list = createWatchList(options, current);
  const watcher = await startWatching(list.paths(), { isWanted: list.isWanted, onProblem });
  watcher.on("all", schedule);
  await look();
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
    settle = setTimeout(() => void look(), settleMs);
    void look();
  }

  /** Never rejects. */
  function look(): Promise<void> {
    reading ??= refresh()
      .catch((error) => onProblem(describeError(error)))
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  async function refresh(): Promise<void> {
    const next = await loadSnapshot(options, current);
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
    // Links are listed by where they lead, once that is known to be allowed.
    followSymlinks: false,
    ignorePermissionErrors: true,
    // Would hold back removals for 100 ms; a file that is replaced by another is seen as such by reading it.
    atomic: false,
  });
  watcher.on("error", (error) => onProblem(describeError(error)));
  await new Promise<void>((resolve) => watcher.once("ready", resolve));
  return watcher;
}
