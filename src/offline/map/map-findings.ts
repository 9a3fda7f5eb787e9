import type { CallResult } from "../jobs/job.ts";
import type { Hit, Listing } from "../jobs/results.ts";
import type { Part } from "./delegate-parts.ts";
import type { DescribeDirectory } from "./describe-directories.ts";
import type { Package } from "./find-packages.ts";
import type { Manifest } from "./manifests/manifest.ts";
import type { Survey } from "./survey-files.ts";

/** All the information that goes into a map. */
export interface MapFindings {
  readonly path: string;
  readonly top: Listing;
  readonly survey: Survey;
  readonly readme: CallResult | undefined;
  /** Manifests in the top-level directory. */
  readonly manifests: readonly Manifest[];
  readonly packages: readonly Package[];
  /** Paths of packages whose manifests were not read. */
  readonly otherPackages: readonly string[];
  readonly todos: { readonly hits: readonly Hit[]; readonly left: number };
  readonly describe: DescribeDirectory;
  /** Reports from the agents that explored parts of a large repository. */
  readonly parts: readonly Part[];
  readonly log: CallResult;
  readonly status: CallResult;
}
