import { lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  describeError,
  errorCode,
  isRecord,
  parseJsonc,
  UserError,
  withFileLock,
  writeAtomically,
} from "../lib/index.ts";
import type { Approval } from "../protocol/index.ts";

export interface TrustedPath {
  readonly path: string;
  /** Time when the user trusted the path, in ISO 8601. */
  readonly since: string;
  readonly approvals: readonly Approval[];
}

/** Directories that the user trusts, by their real path. No file in a directory can make that directory trusted. */
export interface TrustStore {
  /** Explains why the trust file is invalid, in which case nothing is trusted. */
  readonly problem: string | undefined;
  /**
   * Returns true if this path is trusted, or if a directory above it is trusted and there is no other repository in
   * between. A repository inside a trusted directory may come from someone else and must be trusted separately.
   */
  isTrusted(realPath: string): boolean;
  /** Returns the directory that makes this path trusted: the path itself or the nearest trusted directory above it. */
  coveredBy(realPath: string): string | undefined;
  list(): readonly TrustedPath[];
  /** Returns the approved hash for exactly this path. Approvals do not apply to directories under the path. */
  approvedHash(realPath: string, item: { readonly kind: string; readonly name: string }): string | undefined;
  /** Returns the approvals for exactly this path. */
  approvals(realPath: string): readonly Approval[];
  /** Trusts the path with exactly these approvals. Earlier approvals are removed. */
  add(realPath: string, approvals?: readonly Approval[]): Promise<void>;
  /** Adds an approval to a trusted path. */
  approve(realPath: string, approval: Approval): Promise<void>;
  /** Stops trusting the path. Returns false if the path was not trusted. */
  remove(realPath: string): Promise<boolean>;
}

/**
 * Creates a store backed by `trust.json` in the state directory. If the file is invalid, nothing is trusted and the
 * file is never overwritten.
 */
export function createTrustStore({
  stateHome,
  now = () => new Date(),
}: {
  readonly stateHome: string;
  readonly now?: () => Date;
}): TrustStore {
  const file = join(stateHome, "trust.json");
  let { paths, problem } = readTrust(file);
  const change = (edit: (fresh: Map<string, TrustedPath>) => void): Promise<void> =>
    withFileLock(file, async () => {
      // Another process may have changed the file.
      ({ paths, problem } = readTrust(file));
      if (problem !== undefined) throw new UserError(problem, { code: "trust", exitCode: 2 });
      edit(paths);
      await writeAtomically(file, `${JSON.stringify({ version: 1, trusted: [...paths.values()] }, null, 2)}\n`);
    }).catch((error: unknown) => {
      throw error instanceof UserError || errorCode(error) === undefined ? error : unwritable(file, error);
    });
  return {
    get problem() {
      return problem;
    },
    isTrusted: (realPath) => coveringPath(realPath, paths) !== undefined,
    coveredBy: (realPath) => coveringPath(realPath, paths),
    list: () => [...paths.values()],
    approvedHash: (realPath, { kind, name }) =>
      paths.get(realPath)?.approvals.find((known) => known.kind === kind && known.name === name)?.hash,
    approvals: (realPath) => paths.get(realPath)?.approvals ?? [],
    add: (realPath, approvals = []) =>
      change((fresh) => {
        fresh.set(realPath, { path: realPath, since: now().toISOString(), approvals: [...approvals] });
      }),
    approve: (realPath, approval) =>
      change((fresh) => {
        const trusted = fresh.get(realPath);
        if (trusted === undefined) throw notTrusted(realPath);
        const others = trusted.approvals.filter(({ kind, name }) => kind !== approval.kind || name !== approval.name);
        fresh.set(realPath, { ...trusted, approvals: [...others, approval] });
      }),
    remove: async (realPath) => {
      let removed = false;
      if (!readTrust(file).paths.has(realPath) && readTrust(file).problem === undefined) return false;
      await change((fresh) => {
        removed = fresh.delete(realPath);
      });
      return removed;
    },
  };
}

function coveringPath(realPath: string, paths: ReadonlyMap<string, TrustedPath>): string | undefined {
  if (paths.size === 0) return undefined;
  for (let directory = realPath; ; directory = dirname(directory)) {
    if (paths.has(directory)) return directory;
    if (dirname(directory) === directory || isRepository(directory)) return undefined;
  }
}

/** Returns true if the directory is a repository or can't be accessed. In both cases it must be trusted separately. */
function isRepository(directory: string): boolean {
  try {
    return lstatSync(join(directory, ".git"), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return errorCode(error) !== "ENOTDIR";
  }
}

function unwritable(file: string, cause: unknown): UserError {
  const message = `${file} can't be written: ${describeError(cause)}`;
  const fix = "Make the state directory writable, or set RETINUE_HOME to another one.";
  return new UserError(message, { code: "trust", fix, exitCode: 2, cause });
}

function notTrusted(realPath: string): UserError {
  const fix = 'Run "retinue trust add" there first.';
  return new UserError(`${realPath} is not trusted, so nothing in it can be approved`, { code: "trust", fix });
}

interface TrustFile {
  paths: Map<string, TrustedPath>;
  problem: string | undefined;
}

function readTrust(file: string): TrustFile {
  const nothingTrusted = (why: string): TrustFile => ({
    paths: new Map(),
    problem: `${file} ${why}, so no directory is trusted. Fix it, or delete it and trust your directories again.`,
  });
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { paths: new Map(), problem: undefined };
    return nothingTrusted(`can't be read (${describeError(error)})`);
  }
  const parsed = parseJsonc(text);
  if ("error" in parsed) return nothingTrusted(`is broken (line ${parsed.error.line}: ${parsed.error.message})`);
  const { value } = parsed;
  const entries = isRecord(value) && value["version"] === 1 ? value["trusted"] : undefined;
  if (parsed.warnings.length > 0 || !Array.isArray(entries) || !entries.every(isTrustedPath)) {
    return nothingTrusted("does not have the expected format");
  }
  return { paths: new Map(entries.map((entry) => [entry.path, entry])), problem: undefined };
}

function isTrustedPath(value: unknown): value is TrustedPath {
  if (!isRecord(value) || typeof value["path"] !== "string" || typeof value["since"] !== "string") return false;
  return Array.isArray(value["approvals"]) && value["approvals"].every(isApproval);
}

function isApproval(value: unknown): value is Approval {
  return isRecord(value) && ["kind", "name", "hash"].every((key) => typeof value[key] === "string");
}
