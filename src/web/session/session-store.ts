import {
  agentOf,
  type Client,
  type ClientError,
  closeAgent,
  type FoldedSession,
  foldAll,
  newFoldedSession,
  openAgent,
  reconnected,
  type SessionView,
  sessionClosed,
  spansClosed,
  type ViewProgress,
  type ViewUpdate,
} from "../../client/index.ts";
import type { AgentId, Line, SessionClosed, SessionId, SessionInfo } from "../../protocol/index.ts";
import { asClientError, type Link, linkOf, type ServerStore } from "../state/server-store.ts";
import { createStore, type Store, until } from "../state/store.ts";

/** Everything that the page knows about the session that it shows. */
export interface SessionState extends FoldedSession {
  readonly info?: SessionInfo | undefined;
  readonly link: Link;
  /** Why the session's stream has ended, until it is connected again. */
  readonly closed?: SessionClosed["reason"] | undefined;
  /** Whether the view has arrived. Until then, nothing is known about the agents. */
  readonly isLoaded: boolean;
  /** How much of the view has arrived; undefined until the server has sent something. */
  readonly progress?: ViewProgress | undefined;
  /** Time of each agent's last live event. Changed in place. */
  readonly liveAt: Map<AgentId, number>;
  /** Problems with the transcripts of open agents. */
  readonly faults: ReadonlyMap<AgentId, TranscriptFault>;
}

/** Problems with an agent's transcript. */
export interface TranscriptFault {
  /** Numbers of lines that can't be read. */
  readonly unreadable?: readonly number[] | undefined;
  /** Why the transcript could not be loaded. */
  readonly error?: string | undefined;
}

export interface SessionStore extends Store<SessionState> {
  /** Keeps all of an agent's items, and loads those that were dropped. */
  open(agentId: AgentId): void;
  close(agentId: AgentId): void;
  leave(): void;
}

/** Number of items to keep for each agent whose transcript is not shown. */
const KEEP = 30;
const PAUSE_MS = 1_000;
/** Time to spend on updates before the browser can draw, normally and while catching up with many updates. */
const SLICE_MS = 8;
const LONG_SLICE_MS = 24;
/** Number of pending updates above which the page draws less often until it has caught up. */
const MANY = 300;
const DRAW_EVERY_MS = 400;

/** Follows a session until `leave` is called. Updates are applied in batches, once per frame. */
export function watchSession(client: Client, server: ServerStore, id: SessionId): SessionStore {
  const session = client.sessions.open(id);
  const leaving = new AbortController();
  const store = createStore<SessionState>({
    ...newFoldedSession({ keep: KEEP }),
    info: server.get().sessions?.find((each) => each.id === id),
    link: { state: "connecting" },
    isLoaded: false,
    liveAt: new Map(),
    faults: new Map(),
  });
  const change = (part: Partial<SessionState>): void => store.set({ ...store.get(), ...part });

  // Drawing takes longer than applying updates, so the view is ahead of what is drawn while many updates arrive.
  let { view, spans, usage }: FoldedSession = store.get();
  const changeView = (part: (before: SessionView) => SessionView): void => {
    view = part(view);
    change({ view });
  };
  /** Agents' lines that have arrived since their transcripts were requested. */
  const arrived = new Map<AgentId, Line[]>();

  let waiting: ViewUpdate[] = [];
  let isPlanned = false;
  let drawnAt = 0;
  /** Called when all updates have been applied. */
  let onDrained: (() => void) | undefined;
  const plan = (): void => {
    if (isPlanned) return;
    isPlanned = true;
    const run = (): void => {
      isPlanned = false;
      apply();
    };
    if (waiting.length > MANY) setTimeout(run);
    else nextFrame(run);
  };
  const apply = (): void => {
    const startedAt = performance.now();
    const longest = waiting.length > MANY ? LONG_SLICE_MS : SLICE_MS;
    const { liveAt } = store.get();
    let index = 0;
    for (; index < waiting.length; index++) {
      const update = waiting[index] as ViewUpdate;
      ({ view, spans, usage } = foldAll({ view, spans, usage }, update));
      if ("at" in update.event) arrived.get(update.agentId)?.push(update.event);
      if (update.seq === undefined) liveAt.set(update.agentId, Date.now());
      if (index % 50 === 49 && performance.now() - startedAt > longest) break;
    }
    waiting = waiting.slice(index + 1);
    // The first part is drawn immediately, so that there is something to read.
    if (waiting.length <= MANY || startedAt - drawnAt > DRAW_EVERY_MS) {
      drawnAt = performance.now();
      change({ view, spans, usage });
    }
    if (waiting.length > 0) plan();
    else onDrained?.();
  };
  const drained = (): Promise<void> =>
    new Promise((resolve) => {
      onDrained = resolve;
      plan();
    });

  async function follow(): Promise<void> {
    let closed: SessionClosed["reason"] | undefined;
    const updates = session.events({
      after: view.seq,
      signal: leaving.signal,
      onState: (state) => {
        change({ link: linkOf(state), closed: undefined });
        if (state.state === "connected") changeView((before) => reconnected(before, state.at));
      },
      onSnapshot: ({ session: info }) => change({ info }),
      onLoading: (progress) => change({ progress }),
      onView: (folded) => {
        ({ spans, usage } = folded);
        view = { ...folded.view, keep: KEEP };
        change({ view, spans, usage, isLoaded: true });
      },
      onClosed: ({ reason }) => {
        closed = reason;
      },
    });
    let pausedAt = performance.now();
    for await (const update of updates) {
      waiting.push(update);
      plan();
      if (performance.now() - pausedAt < LONG_SLICE_MS) continue;
      // Parsing many events that arrive together would otherwise be one long task.
      await pause(0);
      pausedAt = performance.now();
    }
    await drained();
    if (closed === undefined) return;
    spans = spansClosed(spans);
    changeView(sessionClosed);
    change({ closed, spans });
  }

  /** Follows the session, and connects again whenever a message has opened it. */
  async function followAlways(): Promise<void> {
    while (!leaving.signal.aborted) {
      await follow();
      if (store.get().closed === "deleted") return;
      // The list of sessions is updated a little after the session is closed.
      await pause(PAUSE_MS);
      await until(server, ({ sessions }) => isOpen(sessions?.find((each) => each.id === id)), leaving.signal);
    }
  }
  void followAlways().catch((error: unknown) =>
    change({ link: { state: "refused", error: asClientError(error) as ClientError } }),
  );
  /** Loads an agent's items that are not in the view. */
  async function load(agentId: AgentId): Promise<void> {
    const setFault = (fault: TranscriptFault): void =>
      change({ faults: new Map(store.get().faults).set(agentId, fault) });
    const since: Line[] = [];
    arrived.set(agentId, since);
    setFault({});
    try {
      const lines: Line[] = [];
      for await (const line of session.lines(agentId, { onSkipped: (unreadable) => setFault({ unreadable }) }))
        lines.push(line);
      const last = Number(lines.at(-1)?.id ?? 0);
      const newer = since.filter((line) => Number(line.id) > last);
      changeView((before) => openAgent(before, agentId, [...lines, ...newer]));
    } catch (error) {
      const { code, detail } = asClientError(error);
      // An agent that is waiting for a slot has no transcript yet.
      const isMissing = (agentOf(view, agentId)?.dropped ?? 0) > 0;
      if (code !== "unknown_agent") setFault({ error: detail });
      else if (isMissing) setFault({ error: "Its file is missing. Restore it from a backup, or continue without it." });
    } finally {
      if (arrived.get(agentId) === since) arrived.delete(agentId);
    }
  }
  const stopWatching = server.subscribe(() => {
    const { sessions } = server.get();
    const info = sessions?.find((each) => each.id === id);
    const known = store.get();
    if (info !== undefined && info !== known.info) change({ info });
    // A session that is not open has no stream that could report its deletion.
    if (info === undefined && sessions !== undefined && known.info !== undefined && known.closed !== "deleted")
      change({ closed: "deleted" });
  });

  return {
    ...store,
    open: (agentId) => {
      changeView((before) => openAgent(before, agentId));
      void load(agentId);
    },
    close: (agentId) => changeView((before) => closeAgent(before, agentId)),
    leave: () => {
      stopWatching();
      leaving.abort();
    },
  };
}

function isOpen(info: SessionInfo | undefined): boolean {
  return info !== undefined && (info.state === "running" || info.state === "waiting" || info.state === "idle");
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

const HIDDEN_MS = 250;

/** Calls back before the next frame. A page that is not visible has no frames, but its title still changes. */
function nextFrame(callback: () => void): void {
  if (document.hidden) setTimeout(callback, HIDDEN_MS);
  else requestAnimationFrame(callback);
}
