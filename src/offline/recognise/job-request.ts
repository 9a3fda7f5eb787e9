/** What the words of a request ask for. */
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

/** What the offline model asks of an agent that it sends to a part of a repository. */
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
  readonly kind: "summarise";
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
  /** A pattern of names; absent: what stands in the directory. */
  readonly pattern?: string;
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
