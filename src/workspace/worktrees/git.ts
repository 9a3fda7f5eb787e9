import { setTimeout as wait } from "node:timers/promises";
import {
  createId,
  endProcessTree,
  type StartedProcess,
  startProcess,
  stripControls,
  UserError,
} from "../../lib/index.ts";
import { scrubEnvironment } from "../scrub-environment.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface GitPlace {
  readonly environment: Environment;
  readonly cwd: string;
  /** Named outright where it is known: a file in a working tree can't lead git to another repository then. */
  readonly gitDirectory?: string;
  readonly workTree?: string;
}

export interface GitCall {
  readonly input?: string;
  /** Another index than the working tree's own. */
  readonly index?: string;
  readonly settings?: readonly GitSetting[];
  readonly limitMs?: number;
}

export type GitSetting = readonly [key: string, value: string];

export interface GitAnswer {
  /** Null when it could not be started. */
  readonly code: number | null;
  readonly output: Buffer;
  /** What it said on standard error, as one line. */
  readonly told: string;
}

/** Runs git with none of the programs a repository could ask for, except filters: those are switched off by name. */
export async function askGit(args: readonly string[], place: GitPlace, call: GitCall = {}): Promise<GitAnswer> {
  const git = startProcess({
    command: "git",
    args: ["--literal-pathspecs", "--no-pager", ...args],
    cwd: place.cwd,
    env: environmentOf(place, call),
    tag: `git-${createId()}`,
    ...(call.input === undefined ? {} : { stdin: Buffer.from(call.input, "latin1") }),
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
      ? `git ${args[0]} was ended because it took longer than ${limitMs / 1000} seconds.`
      : (failure ?? told.toString("utf8"));
    return { code, output, told: stripControls(words).replace(/\s+/g, " ").trim() };
  } finally {
    clearTimeout(timer);
  }
}

/** The same, for what must succeed. Waits while another git holds a lock; throws a `UserError` with git's words. */
export async function runGit(args: readonly string[], place: GitPlace, call: GitCall = {}): Promise<Buffer> {
  for (let attempt = 1; ; attempt += 1) {
    const { code, output, told } = await askGit(args, place, call);
    if (code === 0) return output;
    if (attempt === ATTEMPTS || !isLocked(told)) throw gitError(args, told);
    await wait(Math.min(attempt * 5, 100) * (1 + Math.random()));
  }
}

/** Paths that end in NUL, each as a string with one character per byte: a name need not be UTF-8. */
export function pathsOf(output: Buffer): string[] {
  return output.toString("latin1").split("\0").slice(0, -1);
}

/** The bytes of such a path below a directory. */
export function pathBelow(directory: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(path, "latin1")]);
}

const LIMIT_MS = 120_000;
const ATTEMPTS = 60;
const LONGEST_OUTPUT = 256 * 1024 * 1024;

/** In this order of purpose: nothing of the repository is run; what is compared is compared for certain. */
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
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    // Of a partial clone nothing is fetched: that would need the remote's programs and somebody's credentials.
    GIT_ALLOW_PROTOCOL: "none",
    ...(place.gitDirectory === undefined ? {} : { GIT_DIR: place.gitDirectory }),
    ...(place.workTree === undefined ? {} : { GIT_WORK_TREE: place.workTree }),
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
  });
  // By variables and not by -c, since a key may contain "=".
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

/** Another git is at work in the same repository; it will be done soon. */
function isLocked(told: string): boolean {
  if (/exists; cannot create|reference already exists/i.test(told)) return false;
  return /\.lock'?: File exists|cannot lock ref|could not lock|unable to lock|failed to read .*commondir|another git process/i.test(
    told,
  );
}

function gitError(args: readonly string[], told: string): UserError {
  const command = args.find((word) => !word.startsWith("-")) ?? "";
  const words = told.replace(/^(fatal|error): /, "") || "it said nothing.";
  const lock = isLocked(told) ? " If no git is running there, delete that .lock file." : "";
  const [started] = /^(Could not start git|git \S+ was ended)\b/.exec(told) ?? [];
  return new UserError(started === undefined ? `git ${command} failed: ${words}${lock}` : told, { code: "git" });
}
