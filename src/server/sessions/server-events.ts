import type { ServerEvent, SessionId, SessionInfo, WaitingApproval, WorkerInfo } from "../../protocol/index.ts";
import { type EventStream, eventText } from "../http/event-stream.ts";
import type { SessionCatalog } from "./session-catalog.ts";

interface Picture {
  readonly sessions: ReadonlyMap<SessionId, SessionInfo>;
  readonly approvals: ReadonlyMap<string, WaitingApproval>;
  readonly workers: readonly WorkerInfo[];
}

export interface ServerEventsOptions {
  readonly catalog: SessionCatalog;
  readonly workers: () => readonly WorkerInfo[];
  readonly monotonic: () => number;
  readonly report: (error: unknown) => void;
}

const LOOK_EVERY_MS = 250;
/** Share of the time that may be spent on checking the files of many sessions. */
const MOST_BUSY = 0.05;

/** Watches all sessions, including those in other processes, as long as a client is listening. */
export class ServerEvents {
  private readonly options: ServerEventsOptions;
  private readonly streams = new Set<EventStream>();
  private picture: Picture | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(options: ServerEventsOptions) {
    this.options = options;
  }

  /** Adds a client, and removes it when it disconnects. */
  add(stream: EventStream): void {
    this.look();
    this.streams.add(stream);
    stream.signal.addEventListener("abort", () => this.streams.delete(stream));
    const { sessions, approvals, workers } = this.picture ?? this.take();
    void stream.send(
      eventText({
        type: "server_snapshot",
        sessions: [...sessions.values()],
        approvals: [...approvals.values()],
        workers,
      } satisfies ServerEvent),
    );
    this.schedule(LOOK_EVERY_MS);
  }

  /** Ends all streams. */
  close(): void {
    clearTimeout(this.timer);
    for (const stream of this.streams) stream.end();
    this.streams.clear();
  }

  private schedule(delay: number): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.streams.size === 0) {
      this.picture = undefined;
      return;
    }
    this.timer = setTimeout(() => {
      const startedAt = this.options.monotonic();
      this.look();
      const busy = this.options.monotonic() - startedAt;
      this.schedule(Math.max(LOOK_EVERY_MS, busy / MOST_BUSY));
    }, delay);
  }

  private look(): void {
    try {
      const before = this.picture;
      const now = this.take();
      this.picture = now;
      if (before !== undefined) this.send(changesBetween(before, now));
    } catch (error) {
      this.options.report(error);
    }
  }

  private take(): Picture {
    const { catalog, workers } = this.options;
    return {
      sessions: new Map(catalog.list().map((session) => [session.id, session])),
      approvals: new Map(catalog.approvals().map((approval) => [approval.question.requestId, approval])),
      workers: workers(),
    };
  }

  private send(events: readonly ServerEvent[]): void {
    if (events.length === 0) return;
    const text = events.map((event) => eventText(event)).join("");
    for (const stream of this.streams) {
      // A client that does not read gets the complete state when it reconnects.
      if (stream.isBehind) stream.end();
      else void stream.send(text);
    }
  }
}

function changesBetween(before: Picture, now: Picture): readonly ServerEvent[] {
  const events: ServerEvent[] = [];
  for (const session of now.sessions.values())
    if (!isSame(before.sessions.get(session.id), session)) events.push({ type: "session_changed", session });
  for (const sessionId of before.sessions.keys())
    if (!now.sessions.has(sessionId)) events.push({ type: "session_deleted", sessionId });
  for (const [requestId, approval] of now.approvals)
    if (!before.approvals.has(requestId)) events.push({ type: "approval_requested", approval });
  for (const [requestId, { question }] of before.approvals)
    if (!now.approvals.has(requestId))
      events.push({ type: "approval_settled", sessionId: question.sessionId, requestId });
  if (!isSame(before.workers, now.workers)) events.push({ type: "workers_changed", workers: now.workers });
  return events;
}

function isSame(before: unknown, now: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(now);
}
