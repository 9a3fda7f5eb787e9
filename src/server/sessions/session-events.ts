import { followSession, lastEventNumber } from "../../app/index.ts";
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
import { LiveGaps } from "./live-gaps.ts";
import { workerLost } from "./projects.ts";
import { SessionAgents } from "./session-agents.ts";
import type { CatalogSession } from "./session-catalog.ts";

/** Throws an `HttpProblem` if a client claims to know later events than the session has. */
export function checkCursor({ path }: CatalogSession, after: number): void {
  if (after === 0 || after <= lastEventNumber(path)) return;
  throw problem(
    "invalid_cursor",
    `This session has no event ${after}. Connect without Last-Event-ID to get all its events.`,
  );
}

interface StreamedSession extends Pick<ServerContext, "host" | "catalog" | "control"> {
  readonly id: SessionId;
  /** Number of the last event that the client knows. */
  readonly after: number;
}

/** Sends a session's events to a client, until the session is closed or the client disconnects. */
export async function streamSession(
  stream: EventStream,
  { id, after, host, catalog, control }: StreamedSession,
): Promise<void> {
  await control.begun(id);
  const session = catalog.find(id);
  const approvals = catalog.approvals(id);
  const snapshot: SessionSnapshot = { type: "session_snapshot", session: catalog.info(session), approvals };
  await stream.send(eventText(snapshot));
  const agents = new SessionAgents(session.path);
  const position = { after, signal: stream.signal };
  let reason: SessionClosed["reason"] = "ended";
  // A session that another process had open may be opened here, and vice versa.
  for (let isOver = false; !isOver; ) {
    const opened = host.opened(id);
    await isSettledWithin(opened, OPENING_MS);
    const served = host.get(id);
    const { path } = session;
    const send = (updates: AsyncIterable<SessionUpdate>) => sendAll(stream, { updates, agents, position });
    const isComplete =
      served === undefined
        ? await send(
            followSession({ path, ...position, signal: whileClosed(host.has(id) ? opened : undefined, stream) }),
          )
        : await host.hold(served, () => send(served.session.events(position)));
    await stream.drain();
    reason = served?.closedBy ?? "ended";
    isOver = stream.signal.aborted || (isComplete && (served?.closedBy !== undefined || !host.has(id)));
  }
  const detail = reason === "worker_lost" ? workerLost(session.project) : undefined;
  const closed: SessionClosed = { type: "session_closed", reason, detail };
  stream.end(eventText(closed));
}

/** Time after which a client gets the recorded events of a session that is still being opened. */
const OPENING_MS = 500;

/** Returns a signal that aborts when the client disconnects, or when the session has been opened here. */
function whileClosed(opened: Promise<unknown> | undefined, { signal }: EventStream): AbortSignal {
  if (opened === undefined) return signal;
  const settled = new AbortController();
  void opened.then(() => settled.abort());
  return AbortSignal.any([signal, settled.signal]);
}

interface SentUpdates {
  readonly updates: AsyncIterable<SessionUpdate>;
  readonly agents: SessionAgents;
  /** Changed with each durable event. */
  readonly position: { after: number };
}

/** Time after which a slow client's updates are dropped. They are read again once the client has caught up. */
const SLOW_MS = 1_000;

/** Sends updates. Returns false if the client is so slow that the rest should be read again later. */
async function sendAll(stream: EventStream, { updates, agents, position }: SentUpdates): Promise<boolean> {
  const gaps = new LiveGaps();
  for await (const update of updates) {
    agents.observe(update);
    // Without its beginning, a response can't be shown.
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

async function isSettledWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, milliseconds, false);
  });
  const isSettled = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return isSettled;
}

/** Texts of durable events, which are the same for all clients. */
const texts = new WeakMap<object, string>();

function textOf(update: SessionUpdate, agents: SessionAgents): string {
  const known = texts.get(update.event);
  if (known !== undefined) return known;
  const agent = agents.known(update.agentId) ?? { agentType: "unknown", path: [update.agentId] };
  const text = eventText(toWire(update, agent), update.seq);
  texts.set(update.event, text);
  return text;
}
