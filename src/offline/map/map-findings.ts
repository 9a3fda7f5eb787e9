import type { Seen } from "../jobs/job.ts";
import type { Hit, Listing } from "../jobs/results.ts";
import type { Part } from "./explore-parts.ts";
import type { Manifest } from "./read-manifest.ts";
import type { Survey } from "./survey-files.ts";

/** What the tools told for a map. */
export interface MapFindings {
  readonly path: string;
  readonly top: Listing;
  readonly survey: Survey;
  /** Manifests below the top. */
  readonly nested: { readonly paths: readonly string[]; readonly left: number };
  readonly readme: Seen | undefined;
  readonly manifests: readonly Manifest[];
  readonly todos: { readonly hits: readonly Hit[]; readonly left: number };
  /** First comments of the files that speak for their directories. */
  readonly entryPoints: readonly Hit[];
  /** What agents told of the parts of a large repository; none of a small one. */
  readonly parts: readonly Part[];
  readonly log: Seen;
  readonly status: Seen;
}
