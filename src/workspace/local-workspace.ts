import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { homeDirectory, isWithin } from "../lib/index.ts";
import type { Workspace } from "../ports/index.ts";
import { commandEnvironment, readOnlyEnvironment } from "./command-environment.ts";
import { listDirectory } from "./files/checked-directory.ts";
import { expandPatterns, walkDirectory } from "./files/expand-patterns.ts";
import { statPath } from "./files/file-stat.ts";
import { createGuardedFiles, type GuardedFiles } from "./files/guard-files.ts";
import { readRegularFile } from "./files/read-regular-file.ts";
import { removeFile } from "./files/remove-file.ts";
import { resolvePath } from "./files/resolve-path.ts";
import { writeWholeFile } from "./files/write-whole-file.ts";
import type { Sandbox } from "./sandbox/create-sandbox.ts";
import { scrubEnvironment } from "./scrub-environment.ts";
import { spawnProcess } from "./spawn-process.ts";

export interface LocalWorkspaceOptions {
  /** Directory of the workspace. Throws if it does not exist. */
  readonly root: string;
  /** Environment for processes, before it is scrubbed. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * If set, processes get only harmless variables and those with these names. Otherwise, they get all variables except
   * those that look like keys, tokens or passwords.
   */
  readonly pass?: readonly string[] | undefined;
  /** Directory that `~/` refers to. */
  readonly home?: string | undefined;
  /** Start of the session in milliseconds since 1970; defaults to the current time. */
  readonly since?: number | undefined;
  /** Sandbox for commands that models write. */
  readonly sandbox?: Sandbox | undefined;
  /** Guard of this directory's files, if workspaces share it, so that none reports what another one has written. */
  readonly guarded?: GuardedFiles | undefined;
  /** Real path of a directory in which new files are accessible only to their owner, whatever the umask is. */
  readonly privateDirectory?: string | undefined;
}

/** Creates a workspace for a directory on this machine. */
export function createLocalWorkspace(options: LocalWorkspaceOptions): Workspace {
  const root = realpathSync.native(options.root);
  const home = options.home ?? homeDirectory();
  const { pass } = options;
  const environment =
    pass === undefined ? scrubEnvironment(options.environment) : commandEnvironment(options.environment, pass);
  const plainEnvironment = readOnlyEnvironment(options.environment);
  const { sandbox, since = Date.now(), privateDirectory } = options;
  let isTooLarge = false;
  let { guarded } = options;
  const noted = <Outcome extends { readonly ok: boolean }>(path: string, outcome: Outcome): Outcome => {
    if (outcome.ok) guarded?.changed(path);
    return outcome;
  };
  return {
    root,
    resolve: async (paths) => paths.map((path) => resolvePath(path, { root, home })),
    expand: (patterns) => expandPatterns(patterns, { root, home }),
    walk: walkDirectory,
    findNames: async (hardLinks, directories) =>
      (await import("./files/find-names.ts")).findNames(hardLinks, directories),
    stat: async (realPath) => statPath(realPath),
    read: readRegularFile,
    write: async (realPath, bytes, { expect }) => {
      const isPrivate = privateDirectory !== undefined && isWithin(realPath, privateDirectory);
      const write = async () => noted(realPath, await writeWholeFile(realPath, bytes, { expect, isPrivate }));
      if (sandbox === undefined) return write();
      return sandbox.review(async ({ wrote }) => {
        const written = await write();
        if (written.ok) wrote(realPath, bytes);
        return written;
      });
    },
    remove: async (realPath, expectation) => noted(realPath, await removeFile(realPath, expectation)),
    guard: (matters) => {
      guarded ??= createGuardedFiles(root);
      return guarded.guard(matters);
    },
    list: listDirectory,
    changedHooks: async () => (await import("./sandbox/git-directories.ts")).changedHooks(root, since),
    gitPrograms: async () => (await import("./git-programs.ts")).programsWhenReading(root),
    gitRepository: async (directory) =>
      (await import("./git-repository.ts")).readGitRepository(resolve(root, directory), { root, environment }),
    tracks: async (matches) => (await import("./git-index.ts")).trackedPaths(root)?.some(matches) ?? true,
    spawn: (request) => spawnProcess(request, { root, environment, plainEnvironment, sandbox }),
    confinement: async () => (await sandbox?.ready()) ?? { kind: "off" },
    findHidden: async (hidden, directories = []) => {
      const found = await (await import("./sandbox/find-hidden.ts")).findHidden([root, ...directories], hidden);
      isTooLarge = found === undefined;
      return found;
    },
    isTooLargeToHide: () => isTooLarge,
  };
}
