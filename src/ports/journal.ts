import type { AgentId, DurableEvent, Head, Line, SessionId } from "../protocol/index.ts";

export interface OutputFile {
  readonly path: string;
  append(text: string): void;
}

/** State that follows from the first lines of an agent, so that they need not be read again. The lines stay the source of truth. */
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
  /** Stores a checkpoint of all current lines if that is worth it. Best effort: without one, the next process reads the lines. */
  keep(agentId: AgentId, make: () => NewCheckpoint | undefined): void;
  /** Returns the checkpoint that matches the agent's lines byte for byte, and the lines after it. */
  take(agentId: AgentId): { readonly checkpoint: Checkpoint; readonly lines: readonly Line[] } | undefined;
}

/** Transcripts of a session's agents. One process holds the journal at a time. */
export interface Journal {
  readonly sessionId: SessionId;
  /**
   * Writes the events as the agent's next lines, all or none. The returned lines survive the death of the process. Returns
   * a promise if the disk is full and it has to wait and retry (reported through `onTrouble`). Never throws; rejects only if
   * writing has become impossible.
   */
  append(agentId: AgentId, events: readonly DurableEvent[]): readonly Line[] | Promise<readonly Line[]>;
  /** Resolves when everything this agent appended before the call survives a power cut. Concurrent calls share one sync. */
  sync(agentId: AgentId): Promise<void>;
  /** Starts the same a moment later, without a way to wait for it. */
  syncSoon(agentId: AgentId): void;
  /** Returns all lines of an agent in order; empty for an unknown agent. */
  read(agentId: AgentId): Promise<readonly Line[]>;
  /** Absent if only lines are stored. */
  readonly checkpoints?: Checkpoints;
  /** Returns the ids of all subagents, oldest first. */
  agents(): Promise<readonly AgentId[]>;
  /** Returns the readable output file of a background agent; undefined if nothing is stored. */
  output(agentId: AgentId): OutputFile | undefined;
  /** Stores a head once and returns its hash. */
  saveHead(head: Head): Promise<string>;
  loadHead(hash: string): Promise<Head | undefined>;
  /** Syncs, empties the write-ahead log and releases the lock. */
  close(): Promise<void>;
}
