import type { TerminalHost } from "./host.ts";

/** A session that can be resumed. */
export interface ListedSession {
  readonly id: string;
  readonly title: string;
  readonly updatedAt: number;
  readonly state: string;
}

/** Functions and facts that the terminal needs from the program that starts it. */
export interface TerminalProgram {
  /** Opens a new session, or the one with the given id. Rejects with an error for the user. */
  open(request: OpenRequest): Promise<TerminalHost>;
  /** Lists the directory's sessions, newest first. */
  sessions(): Promise<readonly ListedSession[]>;
  /**
   * Returns the files that are ignored because the user does not trust the directory. Undefined if there are none, or
   * if the user has already been asked. Never rejects.
   */
  untrusted?(): Promise<Untrusted | undefined>;
  /** Prompts from earlier sessions in the same directory, oldest first. Neither function throws. */
  readonly history: { load(): readonly string[]; add(prompt: string): void };
  /** Name of the user who answers requests for approval. */
  readonly user: string;
  readonly version: string;
  /** Command line that starts the terminal with the same directory or server. */
  readonly command: string;
}

export interface Untrusted {
  readonly cwd: string;
  /** Paths of the files, with the keys that are ignored in settings files. */
  readonly files: readonly string[];
  /** What the settings, MCP servers and agent files allow, run and set, as exact text. */
  readonly settings: readonly string[];
  /** Trusts the directory. Rejects with an error for the user. */
  trust(): Promise<void>;
}

export interface OpenRequest {
  /** Complete id of a session. */
  readonly resume?: string | undefined;
  /** Receives messages for the user while the session is open. */
  readonly report: (message: string) => void;
  readonly signal: AbortSignal;
}
