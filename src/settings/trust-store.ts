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

/**
 * Directories that the user trusts, by their real path, and rules that the user has saved in directories without
 * trusting them. No file in a directory can make that directory trusted.
 */
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
  /** Approves a part of a path's settings. Does not make the path trusted. */
  approve(realPath: string, approval: Approval): Promise<void>;
  /** Stops trusting the path, and removes its approvals. Returns false if the path was not trusted. */
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
  let { paths, approved, problem } = readTrust(file);
  const change = (edit: (fresh: TrustFile) => void): Promise<void> =>
    withFileLock(file, async () => {
      // Another process may have changed the file.
      const fresh = readTrust(file);
      ({ paths, approved, problem } = fresh);
      if (problem !== undefined) throw new UserError(problem, { code: "trust", exitCode: 2 });
      edit(fresh);
      const others = approved.size === 0 ? {} : { approved: [...approved.values()] };
      const content = { version: 1, trusted: [...paths.values()], ...others };
      await writeAtomically(file, `${JSON.stringify(content, null, 2)}\n`);
    }).catch((error: unknown) => {
      throw error instanceof UserError || errorCode(error) === undefined ? error : unwritable(file, error);
    });
  const approvalsFor = (realPath: string): readonly Approval[] =>
    (paths.get(realPath) ?? approved.get(realPath))?.approvals ?? [];
  return {
    get problem() {
      return problem;
    },
    isTrusted: (realPath) => coveringPath(realPath, paths) !== undefined,
    coveredBy: (realPath) => coveringPath(realPath, paths),
    list: () => [...paths.values()],
    approvedHash: (realPath, { kind, name }) =>
      approvalsFor(realPath).find((known) => known.kind === kind && known.name === name)?.hash,
    approvals: approvalsFor,
    add: (realPath, approvals = []) =>
      change((fresh) => {
        fresh.paths.set(realPath, { path: realPath, since: now().toISOString(), approvals: [...approvals] });
        fresh.approved.delete(realPath);
      }),
    approve: (realPath, approval) =>
      change((fresh) => {
        const entries = fresh.paths.has(realPath) ? fresh.paths : fresh.approved;
        const entry = entries.get(realPath) ?? { path: realPath, since: now().toISOString(), approvals: [] };
        const others = entry.approvals.filter(({ kind, name }) => kind !== approval.kind || name !== approval.name);
        entries.set(realPath, { ...entry, approvals: [...others, approval] });
      }),
    remove: async (realPath) => {
      let removed = false;
      const known = readTrust(file);
      if (!known.paths.has(realPath) && !known.approved.has(realPath) && known.problem === undefined) return false;
      await change((fresh) => {
        removed = fresh.paths.delete(realPath);
        fresh.approved.delete(realPath);
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

interface TrustFile {
  paths: Map<string, TrustedPath>;
  /** Approvals for directories that are not trusted themselves. */
  approved: Map<string, TrustedPath>;
  problem: string | undefined;
}

function readTrust(file: string): TrustFile {
  const nothingTrusted = (why: string): TrustFile => ({
    paths: new Map(),
    approved: new Map(),
    problem: `${file} ${why}, so no directory is trusted. Fix it, or delete it and trust your directories again.`,
  });
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { paths: new Map(), approved: new Map(), problem: undefined };
    return nothingTrusted(`can't be read (${describeError(error)})`);
  }
  const parsed = parseJsonc(text);
  if ("error" in parsed) return nothingTrusted(`is broken (line ${parsed.error.line}: ${parsed.error.message})`);
  const { value } = parsed;
  const content = isRecord(value) && value["version"] === 1 ? value : {};
  const { trusted, approved = [] } = content;
  if (parsed.warnings.length > 0 || !isListOfPaths(trusted) || !isListOfPaths(approved)) {
    return nothingTrusted("does not have the expected format");
  }
  return { paths: byPath(trusted), approved: byPath(approved), problem: undefined };
}

function byPath(entries: readonly TrustedPath[]): Map<string, TrustedPath> {
  return new Map(entries.map((entry) => [entry.path, entry]));
}

function isListOfPaths(value: unknown): value is readonly TrustedPath[] {
  return Array.isArray(value) && value.every(isTrustedPath);
}

function isTrustedPath(value: unknown): value is TrustedPath {
  if (!isRecord(value) || typeof value["path"] !== "string" || typeof value["since"] !== "string") return false;
  return Array.isArray(value["approvals"]) && value["approvals"].every(isApproval);
}

function isApproval(value: unknown): value is Approval {
  return isRecord(value) && ["kind", "name", "hash"].every((key) => typeof value[key] === "string");
}
