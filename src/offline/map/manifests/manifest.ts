import type { Page } from "../../jobs/results.ts";

export interface ManifestSource {
  readonly path: string;
  readonly page: Page;
  /** Names of the files in the same directory, among them lock files. */
  readonly beside: ReadonlySet<string>;
}

/** A statement of a file, with its path and line. */
export interface Fact {
  readonly where: string;
  readonly what: string;
  readonly detail: string;
}

/** What a manifest says about its package. */
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
