/** A request that the offline model recognized. */
export type JobRequest =
  | MapRequest
  | PartRequest
  | FindRequest
  | SummaryRequest
  | HistoryRequest
  | ListRequest
  | ReadRequest
  | SearchRequest
  | { readonly kind: "unknown" };

export interface MapRequest {
  readonly kind: "map";
  readonly path: string;
}

/** Request that the offline model sends to a subagent for one part of a repository. */
export interface PartRequest {
  readonly kind: "explore-part";
  readonly path: string;
}

export interface FindRequest {
  readonly kind: "find";
  readonly symbol: string;
  readonly path: string;
}

export interface SummaryRequest {
  readonly kind: "summarize";
  readonly path: string;
}

export interface HistoryRequest {
  readonly kind: "history";
  readonly path: string;
  readonly commits: number;
}

export interface ListRequest {
  readonly kind: "list";
  readonly path: string;
  /** Glob for file names. If absent, the entries of the directory are listed. */
  readonly pattern?: string | undefined;
}

export interface ReadRequest {
  readonly kind: "read";
  readonly path: string;
}

export interface SearchRequest {
  readonly kind: "search";
  readonly text: string;
  readonly path: string;
}

/**
 * Returns the prompt for a subagent that explores one part of a repository. `asPart` recognizes the first sentence of
 * the prompt.
 */
export function partRequest(path: string): string {
  return `Explore the directory ${JSON.stringify(path)} for a map of the repository. Work with medium thoroughness, and stay in this directory.
Report what the directory is for, its directories and key files (one line each), its entry points, tests and size. Give the path of everything you mention. Say what you could not see.`;
}

const form = /^Explore the directory ("(?:[^"\\\n]|\\.)+") for a map of the repository\./m;

export function asPart(request: string): PartRequest | undefined {
  const quoted = form.exec(request)?.[1];
  if (quoted === undefined) return undefined;
  try {
    return { kind: "explore-part", path: String(JSON.parse(quoted)) };
  } catch {
    return undefined;
  }
}
