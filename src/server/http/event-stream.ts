import type { ServerResponse } from "node:http";
import { createDeferred, type Deferred } from "../../lib/index.ts";

export interface EventStreamOptions {
  /** Interval between comments that keep the connection open. */
  readonly keepAliveMs: number;
  /** Time after which a client that reads nothing is disconnected. */
  readonly stuckMs: number;
}

/** Number of characters after which collected text is written immediately. */
const CHUNK = 64 * 1024;
/** Minimum time between writes of less text than that, because each write takes processor time from the session. */
const PAUSE_MS = 15;

/**
 * A stream of server-sent events. Events that are sent in quick succession are written together. For a client that does
 * not read, no more than one chunk and its connection's buffers stay in memory; it is disconnected after a while.
 */
export class EventStream {
  private readonly outgoing: ServerResponse;
  private readonly options: EventStreamOptions;
  private readonly gone = new AbortController();
  private readonly keepAlive: NodeJS.Timeout;
  private buffer = "";
  private flushing: NodeJS.Timeout | undefined;
  private flushedAt = 0;
  private drained: Deferred<void> | undefined;

  constructor(outgoing: ServerResponse, options: EventStreamOptions) {
    this.outgoing = outgoing;
    this.options = options;
    outgoing.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" });
    outgoing.flushHeaders();
    this.keepAlive = setInterval(() => {
      if (!this.isBehind) void this.send(": keep-alive\n\n");
    }, options.keepAliveMs);
    outgoing.once("close", () => {
      clearInterval(this.keepAlive);
      clearTimeout(this.flushing);
      this.gone.abort();
      this.drained?.resolve();
    });
    outgoing.on("error", () => {});
  }

  /** Fires when the client has disconnected. */
  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Whether the client has unread data. If so, events that may be dropped should not be sent. */
  get isBehind(): boolean {
    return this.drained !== undefined;
  }

  /** Settles when the client has read everything that was sent, or has disconnected. */
  async drain(): Promise<void> {
    await this.drained?.promise;
  }

  /** Sends events as text. Returns a promise if the caller should wait until the client has read more. */
  send(text: string): Promise<void> | undefined {
    if (this.gone.signal.aborted) return undefined;
    this.buffer += text;
    if (this.buffer.length >= CHUNK) this.flush();
    else this.flushing ??= setTimeout(() => this.flush(), Math.max(0, PAUSE_MS - (performance.now() - this.flushedAt)));
    return this.drained?.promise;
  }

  /** Sends the last events and closes the connection. */
  end(text = ""): void {
    if (this.gone.signal.aborted) return;
    clearInterval(this.keepAlive);
    this.buffer += text;
    this.flush();
    this.outgoing.end();
    setTimeout(() => this.outgoing.destroy(), this.options.stuckMs).unref();
  }

  private flush(): void {
    clearTimeout(this.flushing);
    this.flushing = undefined;
    this.flushedAt = performance.now();
    const text = this.buffer;
    this.buffer = "";
    if (text === "" || this.outgoing.write(text) || this.drained !== undefined) return;
    const drained = createDeferred<void>();
    this.drained = drained;
    const cut = setTimeout(() => this.outgoing.destroy(), this.options.stuckMs);
    void drained.promise.then(() => clearTimeout(cut));
    this.outgoing.once("drain", () => {
      this.drained = undefined;
      drained.resolve();
    });
  }
}

/** Returns an event as text. Durable events have an id from which a client can continue. */
export function eventText(event: object, id?: number): string {
  const data = `data: ${JSON.stringify(event)}\n\n`;
  return id === undefined ? data : `id: ${id}\n${data}`;
}
