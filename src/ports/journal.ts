import type { AgentId, DurableEvent, Head, Line, SessionId } from "../protocol/index.ts";

export interface OutputFile {
  readonly path: string;
  append(text: string): void;
}

/** The transcript of a session's agents. One process holds it at a time. */
export interface Journal {
  readonly sessionId: SessionId;
  /**
   * Writes the events as the agent's next lines, all or none. When it resolves they survive the death of the process.
   * A full disk makes it wait and try again (told through `onTrouble`); it rejects only when writing has become impossible.
   */
  append(agentId: AgentId, events: readonly DurableEvent[]): Promise<readonly Line[]>;
  /** Resolves when everything this agent appended before the call survives a power cut. One sync serves all who wait. */
  sync(agentId: AgentId): Promise<void>;
  /** Begins the same a moment later; nobody waits for it. */
  syncSoon(agentId: AgentId): void;
  /** All lines of an agent in order; empty for one that does not exist. */
  read(agentId: AgentId): Promise<readonly Line[]>;
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
