import { lastEventNumber } from "../../app/index.ts";
import { partsOf, type ViewPart } from "../../client/index.ts";
import {
  type SessionClosed,
  type SessionId,
  type SessionSnapshot,
  type SessionUpdate,
  toWire,
} from "../../protocol/index.ts";
import { type EventStream, eventText } from "../http/event-stream.ts";
import { problem } from "../http/problem.ts";
import type { ServerContext } from "../server-context.ts";
import { followUpdates, isSettledWithin } from "./follow-updates.ts";
import { LiveGaps } from "./live-gaps.ts";
import { workerLost } from "./projects.ts";
import { SessionAgents } from "./session-agents.ts";
import type { CatalogSession } from "./session-catalog.ts";
import type { SessionWatch } from "./session-views.ts";

/** Throws an `HttpProblem` if a client's cursor is past the session's last event. */
export function checkCursor({ path }: CatalogSession, after: number): void {
  if (after === 0 || after <= lastEventNumber(path)) return;
  throw problem(
    "invalid_cursor",
    `This session has no event ${after}. To get all its events, connect without Last-Event-ID and without the "after" parameter.`,
  );
}

interface StreamedSession extends Pick<ServerContext, "host" | "catalog" | "control" | "views"> {
  readonly id: SessionId;
  /** Number of the last event that the client has received. */
  readonly after: number;
  /** Whether to send the session's current view instead of its past events. */
  readonly isView: boolean;
}

/** Sends a session's events to a client, until the session is closed or the client disconnects. */
export async function streamSession(
  stream: EventStream,
  { id, after, isView, host, catalog, control, views }: StreamedSession,
): Promise<void> {
  await control.begun(id);
  const session = catalog.find(id);
  const approvals = catalog.approvals(id);
  const snapshot: SessionSnapshot = { type: "session_snapshot", session: catalog.info(session), approvals };
  await stream.send(eventText(snapshot));
  const position = { after };
  const shown = isView ? await sendView(stream, { watch: views.watch(session), position }) : undefined;
  const agents = new SessionAgents(session.path);
  const ended =
    shown ??
    (await followUpdates(session, {
      host,
      position,
      signal: stream.signal,
      take: async (updates) => {
        const isComplete = await sendAll(stream, { updates, agents, position });
        await stream.drain();
        return isComplete;
      },
    }));
  const reason = ended === "ended" && host.isStopping ? "server_stopped" : ended;
  const detail = reason === "worker_lost" ? workerLost(session.project) : undefined;
  const closed: SessionClosed = { type: "session_closed", reason, detail };
  stream.end(eventText(closed));
}

/** Interval at which a client that waits for a view is told how many events have been read. */
const LOADING_MS = 250;

interface SentView {
  readonly watch: SessionWatch;
  readonly position: { after: number };
}

/**
 * Sends a session's view, then its updates. Returns why the session was closed, or undefined if the client must read
 * the rest from the transcripts, because it was too slow.
 */
async function sendView(
  stream: EventStream,
  { watch, position }: SentView,
): Promise<SessionClosed["reason"] | undefined> {
  while (!(await isSettledWithin(watch.caughtUp, LOADING_MS)))
    await stream.send(eventText({ type: "view_loading", events: watch.eventsRead } satisfies ViewPart));
  const isClosed = watch.closed !== undefined;
  const { folded, updates } = watch.join(stream.signal);
  position.after = folded.view.seq;
  // The next update changes `folded`, so the whole view is converted to text now.
  const parts = [...partsOf(folded)].map((part) =>
    eventText(part, part.type === "view_complete" ? position.after : undefined),
  );
  for (const text of parts) await stream.send(text);
  const isComplete = await sendAll(stream, { updates, agents: watch.agents, position });
  await stream.drain();
  return !isComplete ? undefined : isClosed ? "ended" : watch.closed;
}

interface SentUpdates {
  readonly updates: AsyncIterable<SessionUpdate>;
  readonly agents: SessionAgents;
  /** Position in the session, which is advanced with each durable event. */
  readonly position: { after: number };
}

/** Time after which a slow client's updates are dropped, to be read again once the client has caught up. */
const SLOW_MS = 1_000;

/** Sends updates. Returns false if the client is so slow that the rest should be read again later. */
async function sendAll(stream: EventStream, { updates, agents, position }: SentUpdates): Promise<boolean> {
  const gaps = new LiveGaps();
  for await (const update of updates) {
    agents.observe(update);
    // A response can't be shown without its beginning, so repeated beginnings are never dropped.
    const isRepeated = "repeated" in update.event && update.event.repeated !== undefined;
    if (update.seq === undefined && stream.isBehind && !isRepeated) {
      gaps.drop(update);
      continue;
    }
    if (agents.known(update.agentId) === undefined) await agents.load(update.agentId);
    const waiting = stream.send(textOf(gaps.mark(update), agents));
    position.after = update.seq ?? position.after;
    if (waiting !== undefined && !(await isSettledWithin(waiting, SLOW_MS))) return false;
  }
  return true;
}

/** Durable events as text, which is the same for all clients. */
const texts = new WeakMap<object, string>();

function textOf(update: SessionUpdate, agents: SessionAgents): string {
  const known = texts.get(update.event);
  if (known !== undefined) return known;
  const agent = agents.known(update.agentId) ?? { agentType: "unknown", path: [update.agentId] };
  const text = eventText(toWire(update, agent), update.seq);
  texts.set(update.event, text);
  return text;
}
