import { sessionStamp } from "../../app/index.ts";
import { type FoldedSession, foldAll, newFoldedSession, reconnected } from "../../client/index.ts";
import { type Channel, createChannel, createDeferred } from "../../lib/index.ts";
import type { SessionClosed, SessionId, SessionUpdate } from "../../protocol/index.ts";
import { followUpdates } from "./follow-updates.ts";
import { SessionAgents } from "./session-agents.ts";
import type { CatalogSession } from "./session-catalog.ts";
import type { SessionHost } from "./session-host.ts";

/** Number of sessions whose views are kept. */
const MOST = 8;
/**
 * Time for which a session is still followed after its last client has disconnected, because the client may reconnect
 * immediately.
 */
const LINGER_MS = 10_000;
/** Number of unread updates after which a client has to read the rest from the transcripts. */
const MAX_UNREAD = 2_000;

/**
 * Keeps the views of the sessions that clients show. A client that reloads a session gets its view immediately, instead
 * of all its agents' events.
 */
export class SessionViews {
  private readonly host: SessionHost;
  /** Views by session, least recently used first. */
  private readonly watches = new Map<SessionId, SessionWatch>();

  constructor(host: SessionHost) {
    this.host = host;
  }

  /** Returns a session's view, which is up to date when its `caughtUp` settles. */
  watch(session: CatalogSession): SessionWatch {
    const { id, path, summary } = session;
    const { host } = this;
    const known = this.watches.get(id);
    // The stamp is read before the files. If lines are added in between, the next call gets a different stamp.
    const stamp = sessionStamp(path);
    const isSame = known?.closed !== undefined && known.stamp === stamp && !summary.inUse && !host.has(id);
    const watch =
      known !== undefined && (isSame || !known.isOver)
        ? known
        : new SessionWatch(session, { host, stamp, before: known });
    this.watches.delete(id);
    this.watches.set(id, watch);
    for (const [oldest, { isOver }] of this.watches)
      if (this.watches.size > MOST && isOver) this.watches.delete(oldest);
    return watch;
  }

  /** Stops following all sessions. */
  close(): void {
    for (const watch of this.watches.values()) watch.leave();
    this.watches.clear();
  }
}

interface WatchOptions {
  readonly host: SessionHost;
  readonly stamp: string;
  /** An earlier watch of the same session. The new watch continues after the last update of the earlier one. */
  readonly before: SessionWatch | undefined;
}

/** Follows a session once for all clients that show it, and folds its updates. */
export class SessionWatch {
  /** State of the session's files when the watch began. */
  readonly stamp: string;
  readonly agents: SessionAgents;
  /** Settles when the view contains everything that was recorded before the watch began. Never rejects. */
  readonly caughtUp: Promise<void>;
  /** Why the session was closed; undefined while it is open. */
  closed: SessionClosed["reason"] | undefined;
  isOver = false;
  private folded: FoldedSession;
  private readonly clients = new Set<Channel<SessionUpdate>>();
  private readonly leaving = new AbortController();
  private lingering: NodeJS.Timeout | undefined;

  constructor(session: CatalogSession, { host, stamp, before }: WatchOptions) {
    this.stamp = stamp;
    this.agents = before?.agents ?? new SessionAgents(session.path);
    const { view, ...rest } = before?.folded ?? newFoldedSession({ keep: 0 });
    // Responses that are being written are sent again from their beginning.
    this.folded = { ...rest, view: reconnected(view, 0) };
    const caughtUp = createDeferred<void>();
    this.caughtUp = caughtUp.promise;
    const onCaughtUp = (): void => caughtUp.resolve();
    // Clients that continue by reading the transcripts get the same error.
    const followed = this.follow(session, host, onCaughtUp).catch(() => undefined);
    void followed.then(() => {
      this.isOver = true;
      for (const client of this.clients) client.close();
      caughtUp.resolve();
    });
  }

  /** Number of recorded events in the view. */
  get eventsRead(): number {
    return this.folded.view.seq;
  }

  /**
   * Returns the session's current state and later updates, which end when the session is closed, the signal fires or
   * the client reads too slowly.
   */
  join(signal: AbortSignal): { readonly folded: FoldedSession; readonly updates: AsyncIterable<SessionUpdate> } {
    clearTimeout(this.lingering);
    const updates = createChannel<SessionUpdate>();
    this.clients.add(updates);
    const leave = (): void => {
      updates.close();
      this.clients.delete(updates);
      if (this.clients.size > 0) return;
      clearTimeout(this.lingering);
      this.lingering = setTimeout(() => this.leave(), LINGER_MS).unref();
    };
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    if (this.isOver) updates.close();
    return { folded: this.folded, updates };
  }

  /** Stops following the session. */
  leave(): void {
    clearTimeout(this.lingering);
    this.leaving.abort();
  }

  private async follow(session: CatalogSession, host: SessionHost, onCaughtUp: () => void): Promise<void> {
    const { signal } = this.leaving;
    const position = { after: this.folded.view.seq };
    const take = async (updates: AsyncIterable<SessionUpdate>): Promise<boolean> => {
      for await (const update of updates) {
        this.agents.observe(update);
        this.folded = foldAll(this.folded, update);
        position.after = update.seq ?? position.after;
        for (const client of this.clients) this.deliver(client, update);
      }
      return true;
    };
    const reason = await followUpdates(session, { host, position, signal, onCaughtUp, take });
    if (!signal.aborted) this.closed = reason;
  }

  private deliver(client: Channel<SessionUpdate>, update: SessionUpdate): void {
    if (client.size < MAX_UNREAD) client.push(update);
    else client.close();
  }
}
