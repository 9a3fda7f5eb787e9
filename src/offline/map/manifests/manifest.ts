import type { Page } from "../../jobs/results.ts";

export interface ManifestSource {
  readonly path: string;
  readonly page: Page;
  /** Names of the files in the same directory, including lock files. */
  readonly beside: ReadonlySet<string>;
}

/** A statement from a file, with the path and line where it was found. */
export interface Fact {
  readonly where: string;
  readonly what: string;
  readonly detail: string;
}

/** Information that a manifest contains about its package. */
export interface Manifest {
  readonly path: string;
  readonly title?: string | undefined;
  readonly description?: Fact | undefined;
  readonly entries: readonly Fact[];
  readonly commands: readonly Fact[];
  /** Patterns for the directories of workspace members. */
  readonly members: readonly string[];
}

export function emptyManifest(path: string): Manifest {
  return { path, entries: [], commands: [], members: [] };
}
