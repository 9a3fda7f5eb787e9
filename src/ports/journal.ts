import type { AgentId, DurableEvent, Head, Line, SessionId } from "../protocol/index.ts";

export interface OutputFile {
  readonly path: string;
  append(text: string): void;
}

/** What follows from the first lines of an agent, kept so that they need not be read again. Never the truth: only lines are. */
export interface Checkpoint {
  /** JSON. */
  readonly facts: unknown;
  readonly bytes: Uint8Array;
}

export interface NewCheckpoint {
  readonly facts: unknown;
  readonly bytes: readonly Uint8Array[];
}

export interface Checkpoints {
  /** Of all lines there are; made only where it is worth it. Best effort: without it the next process reads the lines. */
  keep(agentId: AgentId, make: () => NewCheckpoint | undefined): void;
  /** The one that fits the agent's lines to the byte, and the lines behind it. */
  take(agentId: AgentId): { readonly checkpoint: Checkpoint; readonly lines: readonly Line[] } | undefined;
}

/** The transcript of a session's agents. One process holds it at a time. */
export interface Journal {
  readonly sessionId: SessionId;
  /**
   * Writes the events as the agent's next lines, all or none. When they are given back they survive the death of the
   * process: at once, or later where a full disk makes it wait and try again (told through `onTrouble`). Never throws;
   * it rejects only when writing has become impossible.
   */
  append(agentId: AgentId, events: readonly DurableEvent[]): readonly Line[] | Promise<readonly Line[]>;
  /** Resolves when everything this agent appended before the call survives a power cut. One sync serves all who wait. */
  sync(agentId: AgentId): Promise<void>;
  /** Begins the same a moment later; nobody waits for it. */
  syncSoon(agentId: AgentId): void;
  /** All lines of an agent in order; empty for one that does not exist. */
  read(agentId: AgentId): Promise<readonly Line[]>;
  /** Absent where nothing is kept beside the lines. */
  readonly checkpoints?: Checkpoints;
  /** The subagents there are, the oldest first. */
  agents(): Promise<readonly AgentId[]>;
  /** The readable text that grows beside a background agent; undefined where nothing is kept. */
  output(agentId: AgentId): OutputFile | undefined;
  /** Stores a head once; returns its hash. */
  saveHead(head: Head): Promise<string>;
  loadHead(hash: string): Promise<Head | undefined>;
  /** Syncs, empties the write-ahead log, gives up the lock. */
  close(): Promise<void>;
}
