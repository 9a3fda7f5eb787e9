/** What the words of a request ask for. */
export type Wish =
  | MapWish
  | PartWish
  | FindWish
  | SummaryWish
  | HistoryWish
  | ListWish
  | ReadWish
  | SearchWish
  | { readonly kind: "unknown" };

export interface MapWish {
  readonly kind: "map";
  readonly path: string;
}

/** What the offline model asks of an agent that it sends to a part of a repository. */
export interface PartWish {
  readonly kind: "explore-part";
  readonly path: string;
}

export interface FindWish {
  readonly kind: "find";
  readonly symbol: string;
  readonly path: string;
}

export interface SummaryWish {
  readonly kind: "summarise";
  readonly path: string;
}

export interface HistoryWish {
  readonly kind: "history";
  readonly path: string;
  readonly commits: number;
}

export interface ListWish {
  readonly kind: "list";
  readonly path: string;
  /** A pattern of names; absent: what stands in the directory. */
  readonly pattern?: string;
}

export interface ReadWish {
  readonly kind: "read";
  readonly path: string;
}

export interface SearchWish {
  readonly kind: "search";
  readonly text: string;
  readonly path: string;
}
