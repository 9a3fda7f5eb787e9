export interface SearchRequest {
  /** Absolute; patterns in `glob` are relative to it. */
  readonly directory: string;
  /** Search this file of the directory only. */
  readonly file?: string;
  /** `content`: lines; `files`: paths with a match; `count`: matching lines by path; `list`: all paths, newest first. */
  readonly mode: "content" | "files" | "count" | "list";
  readonly pattern: string;
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly before: number;
  readonly after: number;
  readonly glob?: string;
  readonly type?: string;
}

export interface Hit {
  /** Relative to the directory of the request. */
  readonly path: string;
  readonly line: number;
  readonly text: string;
  /** False: a line of context. */
  readonly matched: boolean;
  readonly count: number;
}

export interface SearchListener {
  /** Answers whether it wants more. */
  readonly onHit: (hit: Hit) => boolean;
  readonly signal: AbortSignal;
}

export type SearchEnd = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** Searches files, what `.gitignore` names left out. Never rejects. */
export type SearchFiles = (request: SearchRequest, listener: SearchListener) => Promise<SearchEnd>;

export const maxLineLength = 400;
