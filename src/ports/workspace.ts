import type { ResolvedPath } from "../protocol/index.ts";

export interface FileStat {
  readonly kind: "file" | "directory" | "other" | "missing";
  readonly size: number;
  /** Changes whenever the content may have changed (inode, size, times). */
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
  /** Added to the scrubbed environment of the workspace. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Everything the process starts carries this mark, so that all of it can be ended. A list goes from the widest group
   * to the process itself; ending the process sweeps only the last.
   */
  readonly tag: string | readonly string[];
  readonly onOutput: (chunk: Uint8Array, stream: "stdout" | "stderr") => void;
  readonly stdin?: string | Uint8Array;
  /** What a model wrote: it runs in the sandbox. Only where `confinement()` said `on`. */
  readonly confined?: boolean;
  /** Keeps its input open after `stdin`, for a conversation by `RunningProcess.input`. */
  readonly stdinOpen?: boolean;
}

export interface ProcessInput {
  /** True when the process was handed it; false when it no longer reads. Waits while the process does not read. */
  write(data: string | Uint8Array): Promise<boolean>;
  /** Lets the process see the end of its input. */
  end(): void;
}

export interface RunningProcess {
  readonly pid: number | undefined;
  /** Settles when the process has ended and its output was read. `failure`: it could not be started. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null; readonly failure?: string }>;
  /** Ends the whole tree: asks, waits a moment, kills, sweeps by tag. */
  end(): Promise<void>;
  /** Stops reading for a slow consumer. */
  pause(): void;
  resume(): void;
  /** Only with `stdinOpen`. */
  readonly input?: ProcessInput | undefined;
  /** Only with `confined`: what the sandbox has to do with how it ended, for who must act. */
  explain?(output: string, failed: boolean): string | undefined;
}

/** Whether what a model wrote can be confined; `missing`: it must be and can't, so it must not run. */
export type Confinement =
  | { readonly kind: "on" | "off" }
  | { readonly kind: "missing"; readonly reason: string; readonly cure?: string };

/** Files and processes of one place. No method rejects for an expected failure; results say what happened. */
export interface Workspace {
  /** Absolute real path. */
  readonly root: string;
  resolve(paths: readonly string[]): Promise<readonly ResolvedPath[]>;
  stat(realPath: string): Promise<FileStat>;
  /** Regular files only, links not followed, at most `maxBytes` (a larger file is a failure with code `too_large`). */
  read(
    realPath: string,
    options: { readonly maxBytes: number; readonly offset?: number },
  ): Promise<{ readonly ok: true; readonly bytes: Uint8Array; readonly stat: FileStat } | FileFailure>;
  /**
   * Replaces the whole file by temp + rename inside the checked directory; makes missing directories.
   * `expect` is the version the writer saw, `"missing"` for a new file: anything else there is a failure with code `changed`.
   */
  write(
    realPath: string,
    bytes: Uint8Array,
    options: { readonly expect?: string | undefined },
  ): Promise<{ readonly ok: true; readonly stat: FileStat } | FileFailure>;
  list(realPath: string): Promise<{ readonly ok: true; readonly entries: readonly DirectoryEntry[] } | FileFailure>;
  /** Programs that git would run by itself, and that somebody made or changed since the session began. Absent: not known. */
  changedHooks?(): Promise<readonly string[]>;
  spawn(options: SpawnOptions): RunningProcess;
  /** Absent: there is no sandbox. */
  confinement?(): Promise<Confinement>;
}
