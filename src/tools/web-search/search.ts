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
      /** What the engine says in its own words, if it does. */
      readonly summary?: string | undefined;
    } & SearchCost)
  | ({ readonly ok: false; readonly message: string } & SearchCost);

/** Where asking cost tokens. */
interface SearchCost {
  readonly usage?: Usage | undefined;
  readonly costUsd?: number | undefined;
}

export interface SearchOptions {
  readonly allowedDomains: readonly string[];
  readonly blockedDomains: readonly string[];
}

/** Asks a search engine. Never rejects. */
export interface Search {
  (query: string, options: SearchOptions, signal: AbortSignal): Promise<SearchOutcome>;
  /** What it may cost at most to ask once; absent: nothing. */
  readonly takes?: SpendEstimate | undefined;
}
