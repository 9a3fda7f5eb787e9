import type { GitRepository, ResolvedPath } from "../protocol/index.ts";

export interface FileStat {
  readonly kind: "file" | "directory" | "other" | "missing";
  readonly size: number;
  /** Version of the content, composed of inode, size and times. It changes whenever the content may have changed. */
  readonly version: string;
  readonly mode: number;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly kind: "file" | "directory" | "link" | "other";
  readonly size: number;
}

export type FileFailure = { readonly ok: false; readonly code: string; readonly message: string };

export interface SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  /** Variables to add to the workspace's scrubbed environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Tag that the process and all its descendants carry, so that all of them can be ended. A list is ordered from the
   * widest group to the process itself. Ending the process ends only the processes with the last tag.
   */
  readonly tag: string | readonly string[];
  readonly onOutput: (chunk: Uint8Array, stream: "stdout" | "stderr") => void;
  readonly stdin?: string | Uint8Array;
  /** Whether to run the process in the sandbox. Allowed only if `confinement()` returned `on`. */
  readonly confined?: boolean;
  /**
   * Set for a process that is allowed to run only because it is read-only. In the sandbox, it runs in the read-only
   * profile, where it can change nothing, has no network, and does not see the home directory. With or without a
   * sandbox, it gets only harmless environment variables.
   */
  readonly readsOnly?: ReadOnlyView | undefined;
  /** Whether to keep the input open after `stdin` is written, for `RunningProcess.input`. */
  readonly stdinOpen?: boolean;
}

/** Paths that a read-only process can and can't see, in addition to its workspace and the system. */
export interface ReadOnlyView {
  /** Directories that the process may read, even in the home directory. */
  readonly visible: readonly string[];
  /** Existing paths that the process must not see, as `findHidden` returns them. */
  readonly hidden: readonly string[];
}

export interface ProcessInput {
  /**
   * Writes to the input. Waits while the process is not reading. Resolves to false if the process can no longer read.
   */
  write(data: string | Uint8Array): Promise<boolean>;
  /** Closes the input. */
  end(): void;
}

export interface RunningProcess {
  readonly pid: number | undefined;
  /**
   * Resolves when the process has ended and all its output has been read. `failure` is the reason if the process could
   * not be started.
   */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null; readonly failure?: string }>;
  /**
   * Ends the whole process tree: sends a termination signal, waits a moment, kills whatever is left, then looks for
   * remaining processes with the tag.
   */
  end(): Promise<void>;
  /** Stops reading the output while a slow consumer catches up. */
  pause(): void;
  resume(): void;
  /** Standard input of the process. Present only with `stdinOpen`. */
  readonly input?: ProcessInput | undefined;
  /** Explains how the sandbox contributed to a failure. Present only with `confined`. */
  explain?(output: string, failed: boolean): string | undefined;
}

/** A file, directory or symlink that was found by traversing a directory. Symlinks are not resolved. */
export interface WalkedPath {
  readonly path: string;
  readonly kind: "file" | "directory" | "link" | "other";
  /** Identifies a file that has several names, as in `ResolvedPath`. */
  readonly hardLink?: string | undefined;
}

export interface WalkOptions {
  /** Whether to descend into directories that symlinks lead to. */
  readonly follows: boolean;
}

/** A file that a program other than Retinue has changed. */
export interface ChangedFile {
  /** Absolute path. */
  readonly path: string;
  /** Earlier content; null if there was no file, undefined if the content can't be restored. */
  readonly before: Uint8Array | null | undefined;
  /** SHA-256 of the content now; null if the file was deleted. */
  readonly after: string | null;
}

/** Watches the files that change what is permitted or run later. */
export interface FileGuard {
  /** Returns the files that have changed since the last review, or since the guard was created. */
  review(): readonly ChangedFile[];
}

/** Whether commands run in a sandbox. `missing`: a sandbox is required but not usable, so no command may run. */
export type Confinement =
  | { readonly kind: "on" }
  /** `fix` says how to get a sandbox. */
  | { readonly kind: "off"; readonly fix?: string | undefined }
  | { readonly kind: "missing"; readonly reason: string; readonly fix?: string };

/** Files and processes in one directory. Expected failures are returned in the result, not thrown. */
export interface Workspace {
  /** Absolute path, symlinks resolved. */
  readonly root: string;
  resolve(paths: readonly string[]): Promise<readonly ResolvedPath[]>;
  /**
   * Returns the absolute paths that each shell pattern matches in the real directory, with `..` resolved as the system
   * resolves it. As in the shell, a pattern that matches nothing is treated as a literal path. `\` precedes quoted
   * characters, and a leading `~` is the home directory. An entry is undefined if there are too many matches, or if a
   * directory can't be read.
   */
  expand(patterns: readonly string[]): Promise<readonly (readonly string[] | undefined)[]>;
  /** Lists everything under a path. Undefined if there is too much to list, or if a directory can't be read. */
  walk(path: string, options: WalkOptions): Promise<readonly WalkedPath[] | undefined>;
  /**
   * Finds the names that files with several names (hard links) have below some directories. `hardLinks` are the values
   * from `ResolvedPath`. Undefined if there is too much to look at.
   */
  findNames(
    hardLinks: readonly string[],
    directories: readonly string[],
  ): Promise<ReadonlyMap<string, readonly string[]> | undefined>;
  stat(realPath: string): Promise<FileStat>;
  /**
   * Reads a regular file without following links. Fails with the code `too_large` if the file has more than `maxBytes`
   * bytes.
   */
  read(
    realPath: string,
    options: { readonly maxBytes: number; readonly offset?: number },
  ): Promise<{ readonly ok: true; readonly bytes: Uint8Array; readonly stat: FileStat } | FileFailure>;
  /**
   * Replaces the whole file by writing a temporary file and renaming it. Creates missing directories. `expect` is the
   * version that the writer has seen, or `"missing"` for a new file. Fails with the code `changed` if the file has a
   * different version.
   */
  write(
    realPath: string,
    bytes: Uint8Array,
    options: { readonly expect?: string | undefined },
  ): Promise<{ readonly ok: true; readonly stat: FileStat } | FileFailure>;
  /** Deletes a regular file without following links. Fails with the code `changed` if it has a different version. */
  remove(realPath: string, options: { readonly expect: string }): Promise<{ readonly ok: true } | FileFailure>;
  list(realPath: string): Promise<{ readonly ok: true; readonly entries: readonly DirectoryEntry[] } | FileFailure>;
  /**
   * Returns hooks and other programs that git runs automatically and that have changed since the session began. Absent
   * if the workspace can't detect these changes.
   */
  changedHooks?(): Promise<readonly string[]>;
  /** Returns the repository's configuration file if it names programs that git runs even in read-only commands. */
  gitPrograms?(): Promise<string | undefined>;
  /** Returns the repository that git would use in a directory. `directory` may be relative to the workspace. */
  gitRepository?(directory: string): Promise<GitRepository>;
  /**
   * Starts to watch files in the workspace's root and in certain directories, such as `.git` and `.claude`. `matters`
   * gets their paths relative to the workspace. Changes through this workspace are not reported, and no change is
   * reported twice. Absent if the workspace can't watch files.
   */
  guard?(matters: (path: string) => boolean): FileGuard;
  /** Returns true if git may track a file with such a path. Absent if the workspace can't determine that. */
  tracks?(matches: (path: string) => boolean): Promise<boolean>;
  spawn(options: SpawnOptions): RunningProcess;
  /** Returns whether commands run in a sandbox. Absent if the workspace never has a sandbox. */
  confinement?(): Promise<Confinement>;
  /**
   * Finds the paths that a predicate hides, in the workspace and in other directories, and other hard links to them.
   * Returns undefined if there are too many files to look at. In that case, a command can't run in the read-only
   * profile.
   */
  findHidden?(
    hidden: (path: string) => boolean,
    directories?: readonly string[],
  ): Promise<readonly string[] | undefined>;
  /** Returns true if the last search for hidden paths found too many files, so that read-only commands need approval. */
  isTooLargeToHide?(): boolean;
}
