import type { ResolvedPath } from "../protocol/index.ts";

export interface FileStat {
  readonly kind: "file" | "directory" | "other" | "missing";
  readonly size: number;
  /** Changes whenever the content may have changed. Made of inode, size and times. */
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
  /** Variables added to the scrubbed environment of the workspace. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Tag that the process and all its descendants carry, so that all of them can be ended. A list goes from the widest group
   * to the process itself; ending the process ends only those with the last tag.
   */
  readonly tag: string | readonly string[];
  readonly onOutput: (chunk: Uint8Array, stream: "stdout" | "stderr") => void;
  readonly stdin?: string | Uint8Array;
  /** Runs the process in the sandbox. Only if `confinement()` returned `on`. */
  readonly confined?: boolean;
  /** Keeps the input open after `stdin`, for `RunningProcess.input`. */
  readonly stdinOpen?: boolean;
}

export interface ProcessInput {
  /** Waits while the process does not read. Resolves to false if it no longer reads at all. */
  write(data: string | Uint8Array): Promise<boolean>;
  /** Closes the input. */
  end(): void;
}

export interface RunningProcess {
  readonly pid: number | undefined;
  /** Resolves when the process has ended and its output was read. `failure` says why it could not be started. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null; readonly failure?: string }>;
  /** Ends the whole process tree: terminates, waits a moment, kills, then looks for the tag. */
  end(): Promise<void>;
  /** Stops reading for a slow consumer. */
  pause(): void;
  resume(): void;
  /** Only with `stdinOpen`. */
  readonly input?: ProcessInput | undefined;
  /** Only with `confined`: explains what the sandbox had to do with a failure. */
  explain?(output: string, failed: boolean): string | undefined;
}

/** Whether commands run in a sandbox. `missing`: a sandbox is required and can't be used, so nothing may run. */
export type Confinement =
  | { readonly kind: "on" | "off" }
  | { readonly kind: "missing"; readonly reason: string; readonly cure?: string };

/** Files and processes of one directory. No method rejects for an expected failure; it is in the result. */
export interface Workspace {
  /** Absolute path, symlinks resolved. */
  readonly root: string;
  resolve(paths: readonly string[]): Promise<readonly ResolvedPath[]>;
  stat(realPath: string): Promise<FileStat>;
  /** Reads a regular file without following links. A file of more than `maxBytes` is a failure with code `too_large`. */
  read(
    realPath: string,
    options: { readonly maxBytes: number; readonly offset?: number },
  ): Promise<{ readonly ok: true; readonly bytes: Uint8Array; readonly stat: FileStat } | FileFailure>;
  /**
   * Replaces the whole file by a temporary file and a rename, and creates missing directories. `expect` is the version the
   * writer saw, or `"missing"` for a new file; any other version is a failure with code `changed`.
   */
  write(
    realPath: string,
    bytes: Uint8Array,
    options: { readonly expect?: string | undefined },
  ): Promise<{ readonly ok: true; readonly stat: FileStat } | FileFailure>;
  list(realPath: string): Promise<{ readonly ok: true; readonly entries: readonly DirectoryEntry[] } | FileFailure>;
  /** Returns hooks and other programs that git runs by itself and that changed since the session began. Absent: not known. */
  changedHooks?(): Promise<readonly string[]>;
  spawn(options: SpawnOptions): RunningProcess;
  /** Absent if the workspace never has a sandbox. */
  confinement?(): Promise<Confinement>;
}
