import type { CallResult } from "../jobs/job.ts";
import type { Hit, Listing } from "../jobs/results.ts";
import type { Part } from "./delegate-parts.ts";
import type { Manifest } from "./read-manifest.ts";
import type { Survey } from "./survey-files.ts";

/** Everything that a map is written from. */
export interface MapFindings {
  readonly path: string;
  readonly top: Listing;
  readonly survey: Survey;
  /** Manifests in directories below the top. */
  readonly nested: { readonly paths: readonly string[]; readonly left: number };
  readonly readme: CallResult | undefined;
  readonly manifests: readonly Manifest[];
  readonly todos: { readonly hits: readonly Hit[]; readonly left: number };
  /** First comments of the entry points of directories. */
  readonly entryPoints: readonly Hit[];
  /** Reports of the agents that explored parts of a large repository. */
  readonly parts: readonly Part[];
  readonly log: CallResult;
  readonly status: CallResult;
}
