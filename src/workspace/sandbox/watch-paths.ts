import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  createId,
  describeError,
  isRecord,
  isWithin,
  mayBeRunning,
  parseProcessIdentity,
  thisProcess,
} from "../../lib/index.ts";
import { openCheckedDirectory } from "../files/checked-directory.ts";
import { entryAt, entryIdentity, existing } from "./mounts.ts";

/**
 * A path that Retinue or git would act on without approval, and that no mount protects from a command, because it does
 * not exist yet, or because it is a symlink, which can be replaced. The path is checked when the command has finished.
 */
export interface WatchedPath {
  readonly path: string;
  /** State when the command started; undefined if the path did not exist. */
  readonly before?: PathState | undefined;
}

interface PathState {
  /** Identity of the entry itself and, for a symlink, the path that it contains. */
  readonly entry: string;
  /** Identity of a symlink's target, if the target exists. */
  readonly target?: string | undefined;
}

/** Returns the given paths that must be checked after the command has finished. */
export function watchPaths(paths: readonly string[]): readonly WatchedPath[] {
  return paths.flatMap((path) => {
    const before = stateOf(path);
    return before === undefined || isLink(path) ? [{ path, before }] : [];
  });
}

/** How a critical path that a command created or replaced was handled. */
export interface SetAside {
  readonly path: string;
  /** New location, if the path was moved. */
  readonly to?: string | undefined;
  /** Reason why the path could not be moved. */
  readonly failure?: string | undefined;
}

/** Content of a file that Retinue wrote with the user's approval. */
interface Content {
  readonly size: number;
  readonly hash: string;
}

export interface ReviewedFiles {
  /** Must be called with the whole content of each file that was written. */
  wrote(path: string, content: Uint8Array | string): void;
  /** Returns whether a file has the content that was last recorded for it. */
  isUnchanged(path: string): boolean;
}

/** Checks the watched paths of all commands in a session. */
export interface PathWatch {
  /**
   * Runs `work`, which writes files with the user's approval and reports them. These files are not treated as created
   * by a command. No check takes place while `work` is running.
   */
  review<Result>(work: (files: ReviewedFiles) => Promise<Result>): Promise<Result>;
  /**
   * Must be called before a command starts. The returned function must be called when the command has ended; it never
   * rejects. `directory` is where created paths are moved to.
   */
  begin(watched: readonly WatchedPath[], directory: string): () => Promise<readonly SetAside[]>;
}

/**
 * Creates the watch for a session. While a command runs, a file in the state directory lists its watched paths, because
 * Retinue may be killed before it can check them. In that case, `checkInterrupted` checks them later.
 */
export function createPathWatch(state: string | undefined, tell: (message: string) => void): PathWatch {
  const reviewed = new Map<string, Content>();
  const writing = new Set<Promise<unknown>>();
  const records = new Set<(written: string) => void>();
  return {
    async review(work) {
      const running = work({
        wrote(path, content) {
          reviewed.set(path, contentOf(Buffer.from(content)));
          for (const update of records) update(path);
        },
        isUnchanged: (path) => isReviewed(path, reviewed),
      });
      writing.add(running);
      try {
        return await running;
      } finally {
        writing.delete(running);
      }
    },
    begin(watched, directory) {
      const file = state && join(state, RUNNING, `${createId()}.json`);
      // A symlink may lead to any file.
      const concerns = (written: string): boolean =>
        watched.some(({ path, before }) => before !== undefined || isWithin(written, path));
      const save = (): void => {
        const kept = [...reviewed].filter(([path]) => concerns(path));
        if (file) saveRecord(file, { process: thisProcess(), directory, watched, reviewed: kept });
      };
      const update = (written: string): void => (concerns(written) ? save() : undefined);
      save();
      records.add(update);
      return async () => {
        while (writing.size > 0) await Promise.allSettled(writing);
        const moved = checkPaths(watched, { directory, reviewed, tell, subject: "A command" });
        records.delete(update);
        if (file) remove(file);
        return moved;
      };
    },
  };
}

/** Directory in the state directory with a file for each running command. */
const RUNNING = "running-commands";

interface CommandRecord {
  readonly process: unknown;
  readonly directory: string;
  readonly watched: readonly WatchedPath[];
  readonly reviewed: readonly (readonly [string, Content])[];
}

function saveRecord(file: string, record: CommandRecord): void {
  try {
    // The state directory itself is not created here: a session that stores nothing may have none.
    if (!existsSync(dirname(file))) mkdirSync(dirname(file), { mode: 0o700 });
    writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // The file matters only if Retinue is killed. The command can run without it.
  }
}

/**
 * Checks paths that were created by commands whose sessions were killed. Must be called before anything acts on these
 * paths.
 */
export function checkInterrupted(state: string, tell: (message: string) => void): void {
  const directory = join(state, RUNNING);
  for (const name of namesIn(directory)) {
    const file = join(directory, name);
    const record = readRecord(file);
    const owner = parseProcessIdentity(record?.process);
    // Processes on another machine can't be examined. Often, the other machine was a container that no longer exists.
    const isOld = Date.now() - (entryAt(file)?.mtimeMs ?? 0) > LONGEST_MS;
    if (!isOld && (record === undefined || owner === undefined || mayBeRunning(owner))) continue;
    const subject = "A command from an earlier session that was killed";
    if (record) checkPaths(record.watched, { ...record, reviewed: new Map(record.reviewed), tell, subject });
    remove(file);
  }
}

function remove(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The paths are checked once more when the next session starts.
  }
}

const LONGEST_MS = 7 * 24 * 60 * 60 * 1000;

function readRecord(file: string): CommandRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(value) && Array.isArray(value["watched"]) ? (value as unknown as CommandRecord) : undefined;
  } catch {
    return undefined;
  }
}

interface Check {
  readonly directory: string;
  readonly reviewed: ReadonlyMap<string, Content>;
  readonly tell: (message: string) => void;
  /** Names the command in messages. */
  readonly subject: string;
}

function checkPaths(watched: readonly WatchedPath[], check: Check): readonly SetAside[] {
  const changed = watched.filter((each) => isChanged(each, check.reviewed));
  const moved = changed.flatMap((each) => setAside(each, check));
  const { tell, subject } = check;
  for (const { path, to, failure } of moved)
    tell(
      to === undefined
        ? `${subject} created ${path}, which Retinue or git acts on. Review it: it could not be moved aside (${failure}).`
        : `${subject} created ${path}, which Retinue or git acts on. It was moved to ${to}. Review it before you move it back.`,
    );
  return moved;
}

function isChanged({ path, before }: WatchedPath, reviewed: ReadonlyMap<string, Content>): boolean {
  const after = stateOf(path);
  if (after === undefined) return false;
  if (after.entry !== before?.entry) return true;
  if (after.target === before.target) return false;
  return !existing([path]).every((target) => isReviewed(target, reviewed));
}

/**
 * Moves a path aside, except files that Retinue itself has written since the command started. Paths are moved rather
 * than deleted, because the user may have created them.
 */
function setAside({ path }: WatchedPath, check: Check): readonly SetAside[] {
  const parts = unreviewed(path, check.reviewed);
  const moved = parts.length > MOST_PARTS ? [] : parts.map((part) => moveAway(part, path, check.directory));
  const isDone = parts.length <= MOST_PARTS && moved.every(({ to }) => to !== undefined);
  return isDone || parts[0] === path ? moved : [...moved, moveAway(path, path, check.directory)];
}

const MOST_PARTS = 100;

/**
 * Renames a path, which is `top` or is below it. No content is copied, because that could take forever. The path is
 * first given a name next to `top`. This works even if the state directory is on another file system, or if the path is
 * a directory without write permission.
 */
function moveAway(path: string, top: string, directory: string): SetAside {
  const hidden = join(dirname(top), `.retinue-created-${createId()}`);
  try {
    makeWritable(dirname(top));
    renameChecked(path, hidden);
  } catch (error) {
    return { path, failure: describeError(error) };
  }
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const to = join(directory, `${createId()}-${basename(path)}`);
    renameSync(hidden, to);
    return { path, to };
  } catch {
    return { path, to: hidden };
  }
}

/** Renames a path unless it leads through a symlink, because the command could not have created a file there. */
function renameChecked(path: string, to: string): void {
  const parent = openCheckedDirectory(dirname(path));
  if (!parent.ok) throw new Error(parent.message);
  try {
    renameSync(parent.within(basename(path)), to);
  } finally {
    parent.close();
  }
}

/** Restores the owner's permissions, which a command may have removed. */
function makeWritable(directory: string): void {
  const { mode } = lstatSync(directory);
  if ((mode & 0o700) !== 0o700) chmodSync(directory, (mode & 0o7777) | 0o700);
}

/** Returns the parts of a tree that Retinue has not written. */
function unreviewed(path: string, reviewed: ReadonlyMap<string, Content>): readonly string[] {
  if (isReviewed(path, reviewed)) return [];
  if (!entryAt(path)?.isDirectory() || ![...reviewed.keys()].some((each) => isWithin(each, path))) return [path];
  const names = namesIn(path);
  return names.length === 0 ? [path] : names.flatMap((name) => unreviewed(join(path, name), reviewed));
}

/**
 * Returns whether a file still has the content that Retinue wrote, and no other name through which it could be changed.
 */
function isReviewed(path: string, reviewed: ReadonlyMap<string, Content>): boolean {
  const expected = reviewed.get(path);
  if (expected === undefined) return false;
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(descriptor);
      if (!stat.isFile() || stat.nlink !== 1 || stat.size !== expected.size) return false;
      return contentOf(readFileSync(descriptor)).hash === expected.hash;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false;
  }
}

function contentOf(bytes: Uint8Array): Content {
  return { size: bytes.length, hash: createHash("sha256").update(bytes).digest("hex") };
}

function stateOf(path: string): PathState | undefined {
  const identity = entryIdentity(path);
  if (identity === undefined) return undefined;
  if (!isLink(path)) return { entry: identity };
  try {
    const entry = `${identity} ${readlinkSync(path)}`;
    const target = statSync(path, { bigint: true, throwIfNoEntry: false });
    return { entry, target: target && `${target.dev}:${target.ino}` };
  } catch {
    return { entry: identity };
  }
}

export function isLink(path: string): boolean {
  return entryAt(path)?.isSymbolicLink() === true;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
