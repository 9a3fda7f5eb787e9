import { copyFile, mkdtemp, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import {
  createId,
  endProcessTree,
  type StartedProcess,
  startProcess,
  stripControls,
  UserError,
} from "../../lib/index.ts";
import { pathOutside } from "../command-environment.ts";
import { scrubEnvironment } from "../scrub-environment.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface GitPlace {
  readonly environment: Environment;
  readonly cwd: string;
  /** Git directory; set if known, so that a file in the working tree can't redirect git to another repository. */
  readonly gitDirectory?: string;
  readonly workTree?: string;
}

export interface GitCall {
  readonly input?: string;
  /** Index to use instead of the working tree's own index. */
  readonly index?: string | undefined;
  readonly settings?: readonly GitSetting[];
  readonly limitMs?: number;
}

export type GitSetting = readonly [key: string, value: string];

export interface GitAnswer {
  /** Exit code; null if git could not be started. */
  readonly code: number | null;
  readonly output: Buffer;
  /** Standard error, as one line. */
  readonly told: string;
}

/**
 * Runs git and disables the programs that a repository can configure, except filters, which must be disabled by name.
 */
export async function askGit(args: readonly string[], place: GitPlace, call: GitCall = {}): Promise<GitAnswer> {
  const git = startProcess({
    command: "git",
    args: ["--literal-pathspecs", "--no-pager", ...args],
    cwd: place.cwd,
    env: environmentOf(place, call),
    tag: `git-${createId()}`,
    stdin: call.input === undefined ? undefined : Buffer.from(call.input, "latin1"),
  });
  const { limitMs = LIMIT_MS } = call;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void endProcessTree(git);
  }, limitMs);
  try {
    const [output, told] = await Promise.all([collect(git.stdout, git), collect(git.stderr, git)]);
    const { code, failure } = await git.closed;
    const words = isLate
      ? `git ${args[0]} was stopped because it took longer than ${limitMs / 1000} seconds.`
      : (failure ?? told.toString("utf8"));
    return { code, output, told: stripControls(words).replace(/\s+/g, " ").trim() };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs git as `askGit` does. Waits while another git process holds a lock; throws a `UserError` with git's message if git
 * fails.
 */
export async function runGit(args: readonly string[], place: GitPlace, call: GitCall = {}): Promise<Buffer> {
  for (let attempt = 1; ; attempt += 1) {
    const { code, output, told } = await askGit(args, place, call);
    if (code === 0) return output;
    if (attempt === ATTEMPTS || !isLocked(told)) throw gitError(args, told);
    await wait(Math.min(attempt * 5, 100) * (1 + Math.random()));
  }
}

/**
 * Splits output into paths, each terminated by NUL. Each string has one character per byte, because names need not be
 * UTF-8.
 */
export function pathsOf(output: Buffer): string[] {
  return output.toString("latin1").split("\0").slice(0, -1);
}

/** Joins a directory and a path from `pathsOf`, and returns the result as bytes. */
export function pathBelow(directory: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(path, "latin1")]);
}

const LIMIT_MS = 120_000;
/** Time limit for reading the configuration. If the configuration file is a pipe, git would wait for a writer. */
const CONFIG_MS = 10_000;
const ATTEMPTS = 60;
const LONGEST_OUTPUT = 256 * 1024 * 1024;

/** Settings that keep git from running programs from the repository, followed by settings for reliable comparisons. */
const harmless: readonly GitSetting[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["protocol.ext.allow", "never"],
  ["submodule.recurse", "false"],
  ["log.showSignature", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["core.untrackedCache", "false"],
  ["core.splitIndex", "false"],
  ["core.ignoreStat", "false"],
  ["core.trustctime", "true"],
  ["core.checkStat", "default"],
];

function environmentOf(place: GitPlace, { index, settings = [] }: GitCall): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(scrubEnvironment(place.environment))) {
    if (!name.startsWith("GIT_") && !name.startsWith("LC_") && name !== "LANGUAGE") environment[name] = value;
  }
  Object.assign(environment, {
    PATH: pathOutside(environment["PATH"] ?? "", [
      place.cwd,
      ...(place.workTree === undefined ? [] : [place.workTree]),
    ]),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    // Prevents fetching in a partial clone, which would need the remote's programs and the user's credentials. The
    // protocol name is random, because a repository can define the program for any protocol whose name it knows.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: `none-${createId()}`,
  });
  if (place.gitDirectory !== undefined) environment["GIT_DIR"] = place.gitDirectory;
  if (place.workTree !== undefined) environment["GIT_WORK_TREE"] = place.workTree;
  if (index !== undefined) environment["GIT_INDEX_FILE"] = index;
  // Settings are passed as variables instead of -c, because a key may contain "=".
  const all = [...harmless, ...settings];
  for (const [position, [key, value]] of all.entries()) {
    environment[`GIT_CONFIG_KEY_${position}`] = key;
    environment[`GIT_CONFIG_VALUE_${position}`] = value;
  }
  return { ...environment, GIT_CONFIG_COUNT: String(all.length) };
}

async function collect(stream: AsyncIterable<Uint8Array>, git: StartedProcess): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length <= LONGEST_OUTPUT) chunks.push(chunk);
    else await endProcessTree(git);
  }
  return Buffer.concat(chunks);
}

/** Returns true if git failed because another git process is working in the same repository. */
function isLocked(told: string): boolean {
  if (/exists; cannot create|reference already exists/i.test(told)) return false;
  return /\.lock'?: File exists|cannot lock ref|could not lock|unable to lock|failed to read .*commondir|another git process/i.test(
    told,
  );
}

function gitError(args: readonly string[], told: string): UserError {
  const command = args.find((word) => !word.startsWith("-")) ?? "";
  const words = told.replace(/^(fatal|error): /, "") || "it printed nothing.";
  const lock = isLocked(told) ? " If no git process is running there, delete that .lock file." : "";
  const [started] = /^(Could not start git|git \S+ was ended)\b/.exec(told) ?? [];
  return new UserError(started === undefined ? `git ${command} failed: ${words}${lock}` : told, { code: "git" });
}

export interface Git {
  readonly place: GitPlace;
  /** Names of the configured filter programs, all of which are disabled. */
  readonly filters: readonly string[];
  /** Throws a `UserError` if git fails. */
  run(args: readonly string[], call?: GitCall): Promise<Buffer>;
  /** Runs a command that may fail. */
  ask(args: readonly string[], call?: GitCall): Promise<GitAnswer>;
}

/**
 * Opens git for one working tree and disables its filter programs (`filter.NAME.smudge`, as for git-lfs). Looks them up
 * in that working tree, because configuration may apply to only one branch or directory.
 */
export async function openGit(place: GitPlace, { limitMs = CONFIG_MS }: GitCall = {}): Promise<Git> {
  const args = ["config", "-z", "--name-only", "--get-regexp", "^filter\\."];
  const { code, output, told } = await askGit(args, place, { limitMs });
  // Exit code 1 means that there are no filters. If git fails in any other way, filters may exist.
  if (code !== 0 && code !== 1) throw new UserError(`The git configuration can't be read: ${told}`, { code: "git" });
  const keys = output.toString("utf8");
  // A name that is not UTF-8 can't be passed to git, so the filter can't be disabled.
  if (!Buffer.from(keys).equals(output))
    throw new UserError("A git filter has a name that is not UTF-8", { code: "git" });
  const filters = new Set(keys.split("\0").flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []));
  const settings = [...filters].flatMap((name): GitSetting[] => [
    [`filter.${name}.smudge`, ""],
    [`filter.${name}.clean`, ""],
    [`filter.${name}.process`, ""],
    [`filter.${name}.required`, "false"],
  ]);
  return {
    place,
    filters: [...filters],
    run: (args, call = {}) => runGit(args, place, { ...call, settings }),
    ask: (args, call = {}) => askGit(args, place, { ...call, settings }),
  };
}

/** Copies an index with its modification time, which git uses to detect changed files. */
export async function copyIndex(from: string, to: string): Promise<void> {
  const { atime, mtime } = await stat(from);
  await copyFile(from, to);
  await utimes(to, atime, mtime);
}

/**
 * Runs `work` with a copy of an index, because git writes to the index. The copy is in `beside`, the git directory of a
 * worktree.
 */
export async function withIndexCopy<Result>(
  { from, beside }: { readonly from: string; readonly beside: string },
  work: (index: string) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(beside, "retinue-"));
  try {
    const index = join(directory, "index");
    await copyIndex(from, index);
    return await work(index);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
