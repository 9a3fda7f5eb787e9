import { createDeferred, type Deferred } from "../../lib/index.ts";
import type { Feed, FeedPosition } from "../../ports/index.ts";
import type { AgentId, Line, SessionUpdate } from "../../protocol/index.ts";
import { Drafts } from "./drafts.ts";
import { type LineSource, readSessionLines, type SessionLine } from "./session-lines.ts";

/** A session's feed, with the methods that only the transcript calls. */
export interface OpenFeed extends Feed {
  /** Must be called for all lines, in the order they were written. */
  publish(agentId: AgentId, lines: readonly Line[]): void;
  /** Ends the feed for all readers, once they have read everything. */
  close(): void;
}

/**
 * Number of unread updates after which a slow reader misses live events and reads recorded lines from the transcript.
 */
const MAX_UNREAD = 2_000;

interface Reader {
  unread: SessionUpdate[];
  /** Whether lines that are not in `unread` must be read from the transcript first. */
  isBehind: boolean;
  /** Number of the first line that was published since the reader began to read the transcript. */
  publishedFrom: number;
  /** Resolved when there is something to deliver. */
  awake: Deferred<void>;
}

/** The newest read of the transcript, as long as it is complete. */
interface LatestRead {
  readonly after: number;
  readonly lines: Promise<readonly SessionLine[]>;
}

/** Maximum time for which a read is kept for other readers. */
const SHARED_MS = 1_000;

/**
 * Creates a feed. It keeps only the responses that are being written: a new reader reads the transcript first, then
 * these responses from their beginning.
 */
export function createFeed(source: LineSource): OpenFeed {
  const readers = new Set<Reader>();
  /** Number of each agent's last line, for the agents that have written lines while the feed had readers. */
  const newest = new Map<AgentId, number>();
  const drafts = new Drafts();
  let latest: LatestRead | undefined;
  let isClosed = false;

  /**
   * Reads the lines after a position. Readers that ask at about the same time share one read, so that many clients that
   * connect together do not hold up the session.
   */
  function readAfter(after: number): Promise<readonly SessionLine[]> {
    if (latest !== undefined && latest.after <= after) return latest.lines;
    const hasNothingNew = (agentId: AgentId): boolean => (newest.get(agentId) ?? after + 1) <= after;
    const read: LatestRead = { after, lines: readSessionLines(source, after, hasNothingNew) };
    latest = read;
    setTimeout(() => {
      if (latest === read) latest = undefined;
    }, SHARED_MS).unref();
    return read.lines;
  }

  /** Reads the lines that were written before the reader began to receive new ones. */
  async function catchUp(reader: Reader, after: number): Promise<readonly SessionUpdate[]> {
    reader.isBehind = false;
    reader.unread = [];
    // Anything added to the responses from now on follows as new updates.
    const written = drafts.updates();
    reader.publishedFrom = Number.POSITIVE_INFINITY;
    const lines = await readAfter(after);
    // Lines that were written during the read may be incomplete here, but follow as new updates.
    return [...lines.filter(({ seq }) => seq < reader.publishedFrom), ...written];
  }

  async function* updates(
    reader: Reader,
    { after = 0, signal, onCaughtUp }: FeedPosition,
  ): AsyncGenerator<SessionUpdate> {
    const isStopped = (): boolean => signal?.aborted === true;
    let last = after;
    let isCaughtUp = false;
    while (!isStopped()) {
      if (!reader.isBehind && reader.unread.length === 0) {
        if (isClosed) return;
        reader.awake = createDeferred();
        await reader.awake.promise;
        continue;
      }
      const batch = reader.isBehind ? await catchUp(reader, last) : reader.unread.splice(0);
      for (const update of batch) {
        if (isStopped()) return;
        if (update.seq !== undefined && update.seq <= last) continue;
        last = update.seq ?? last;
        yield update;
      }
      if (!isCaughtUp) onCaughtUp?.();
      isCaughtUp = true;
    }
  }

  return {
    publish(agentId, lines) {
      latest = undefined;
      drafts.record(agentId, lines);
      if (readers.size === 0) return newest.clear();
      for (const event of lines) for (const reader of readers) deliver(reader, { agentId, seq: event.seq, event });
      newest.set(agentId, lines.at(-1)?.seq ?? 0);
    },
    live(agentId, event) {
      drafts.add(agentId, event);
      for (const reader of readers) if (reader.unread.length < MAX_UNREAD) deliver(reader, { agentId, event });
    },
    async *read(position = {}) {
      const reader: Reader = { unread: [], isBehind: true, publishedFrom: 0, awake: createDeferred() };
      const wake = (): void => reader.awake.resolve();
      readers.add(reader);
      position.signal?.addEventListener("abort", wake);
      try {
        yield* updates(reader, position);
      } finally {
        readers.delete(reader);
        position.signal?.removeEventListener("abort", wake);
      }
    },
    close() {
      isClosed = true;
      latest = undefined;
      drafts.clear();
      for (const { awake } of readers) awake.resolve();
    },
  };
}

function deliver(reader: Reader, update: SessionUpdate): void {
  if (update.seq !== undefined) reader.publishedFrom = Math.min(reader.publishedFrom, update.seq);
  if (reader.unread.length < MAX_UNREAD) reader.unread.push(update);
  else {
    reader.unread = [];
    reader.isBehind = true;
  }
  reader.awake.resolve();
}
