import type { AgentId, AgentLiveEvent, DurableEvent, Head, Line, SessionId, SessionUpdate } from "../protocol/index.ts";
import type { AddressedTexts, ResultStore } from "./executor.ts";

export interface OutputFile {
  readonly path: string;
  append(text: string): void;
}

/**
 * State derived from the first lines of an agent's transcript, so that these lines need not be read again. The lines
 * remain the source of truth.
 */
export interface Checkpoint {
  /** Plain JSON. */
  readonly facts: unknown;
  readonly bytes: Uint8Array;
}

export interface NewCheckpoint {
  readonly facts: unknown;
  readonly bytes: readonly Uint8Array[];
}

export interface Checkpoints {
  /**
   * Stores a checkpoint of all current lines if there are enough new lines. Best effort: without a checkpoint, the next
   * process reads the lines.
   */
  keep(agentId: AgentId, make: () => NewCheckpoint | undefined): void;
  /** Returns the checkpoint that matches the agent's lines byte for byte, and the lines after it. */
  take(agentId: AgentId): { readonly checkpoint: Checkpoint; readonly lines: readonly Line[] } | undefined;
}

/** Transcripts of a session's agents. One process holds the journal at a time. */
export interface Journal {
  readonly sessionId: SessionId;
  /**
   * Writes the events as the agent's next lines, all or none. The returned lines survive a crash of the process.
   * Returns a promise if the disk is full and writing must be retried (reported through `onTrouble`). Never throws. The
   * promise rejects only if writing has become impossible.
   */
  append(agentId: AgentId, events: readonly DurableEvent[]): readonly Line[] | Promise<readonly Line[]>;
  /**
   * Resolves when everything that this agent appended before the call is safe from a power cut. Concurrent calls share
   * one sync.
   */
  sync(agentId: AgentId): Promise<void>;
  /** Starts a sync after a short delay. The caller can't wait for the sync. */
  syncSoon(agentId: AgentId): void;
  /** Returns all of an agent's lines in order. Empty for an unknown agent. */
  read(agentId: AgentId): Promise<readonly Line[]>;
  /** Absent if this journal stores no checkpoints. */
  readonly checkpoints?: Checkpoints | undefined;
  /** Returns the ids of all subagents, oldest first. */
  agents(): Promise<readonly AgentId[]>;
  /** Returns the readable output file of a background agent. Undefined if the journal stores no files. */
  output(agentId: AgentId): OutputFile | undefined;
  /** Stores a head, unless it is already stored, and returns its hash. */
  saveHead(head: Head): Promise<string>;
  loadHead(hash: string): Promise<Head | undefined>;
  /** Syncs, empties the write-ahead log and releases the lock. */
  close(): Promise<void>;
}

/** A session's journal and everything else that is stored with it: in files, in memory or elsewhere. */
export interface Transcript extends Journal {
  /** Complete text of truncated results. Its addresses have the kind `result`. */
  readonly results: ResultStore & AddressedTexts;
  /** Delivers everything that this process appends. */
  readonly feed: Feed;
  /** Path of the main agent's transcript. Undefined if the session is not stored in files. */
  readonly path: string | undefined;
  /** Path of the approval inbox. Undefined if other processes can't answer requests for approval. */
  readonly inboxPath: string | undefined;
  /** Messages for the user about damage that was found, skipped or repaired while reading. */
  readonly problems: readonly { readonly file: string; readonly line: number; readonly message: string }[];
  /**
   * Whether the previous process ended without closing the session. If so, processes that it started may still be
   * running.
   */
  readonly leftOpen: boolean;
}

/** Options for reading a session's events: where to start, and when to stop. */
export interface FeedPosition {
  /** Number of the last update that the reader has. Use 0 to read all updates. */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called once, when everything that had been recorded before has been returned. */
  readonly onCaughtUp?: (() => void) | undefined;
}

/** Everything that happens in a session, for any number of readers. */
export interface Feed {
  /** Passes a live event on to the current readers. Readers that are too slow miss it. */
  live(agentId: AgentId, event: AgentLiveEvent): void;
  /**
   * Returns the recorded lines after a position, oldest first, then new updates as they happen. Ends when the session
   * is closed or the signal fires.
   */
  read(position?: FeedPosition): AsyncIterable<SessionUpdate>;
}
