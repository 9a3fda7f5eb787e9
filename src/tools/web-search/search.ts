import type { SpendEstimate } from "../../ports/index.ts";
import type { Usage } from "../../protocol/index.ts";

export interface SearchHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

export type SearchOutcome =
  | ({
      readonly ok: true;
      readonly hits: readonly SearchHit[];
      /** Summary from the search engine, if there is one. */
      readonly summary?: string | undefined;
    } & SearchCost)
  | ({ readonly ok: false; readonly message: string } & SearchCost);

/** Cost of a search that uses a model. */
interface SearchCost {
  readonly usage?: Usage | undefined;
  readonly costUsd?: number | undefined;
}

export interface SearchOptions {
  readonly allowedDomains: readonly string[];
  readonly blockedDomains: readonly string[];
}

/** Queries a search engine. Never rejects. */
export interface Search {
  (query: string, options: SearchOptions, signal: AbortSignal): Promise<SearchOutcome>;
  /** Maximum cost of one search; absent if it is free. */
  readonly takes?: SpendEstimate | undefined;
}
