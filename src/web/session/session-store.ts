import {
  type Client,
  type ClientError,
  closeAgent,
  foldSession,
  foldUsage,
  newSessionView,
  noSessionUsage,
  openAgent,
  reconnected,
  type SessionUsage,
  type SessionView,
  sessionClosed,
  type ViewUpdate,
} from "../../client/index.ts";
import type { AgentId, Line, SessionClosed, SessionId, SessionInfo } from "../../protocol/index.ts";
import { asClientError, type Link, linkOf, type ServerStore } from "../state/server-store.ts";
import { createStore, type Store, until } from "../state/store.ts";
import { foldSpans, noSpans, type Spans } from "./spans.ts";

/** Everything that the page knows about a session that it shows. */
export interface SessionState {
  readonly view: SessionView;
  /** Turns and calls over time. Changed in place; `spans.version` grows with each change. */
  readonly spans: Spans;
  /** Tokens and costs of the turns. */
  readonly usage: SessionUsage;
  readonly info?: SessionInfo | undefined;
  readonly link: Link;
  /** Why the stream of the session has ended, until it is connected again. */
  readonly closed?: SessionClosed["reason"] | undefined;
  /** Whether everything that was recorded before the connection has been read. */
  readonly isLoaded: boolean;
  /** Time of the last live event of each agent. Changed in place. */
  readonly liveAt: Map<AgentId, number>;
  /** Numbers of lines in the transcripts of opened agents that can't be read. */
  readonly unreadable: ReadonlyMap<AgentId, readonly number[]>;
}

export interface SessionStore extends Store<SessionState> {
  /** Keeps all items of an agent, and loads those that were dropped. */
  open(agentId: AgentId): void;
  close(agentId: AgentId): void;
  leave(): void;
}

/** Number of items to keep of each agent whose transcript is not shown. */
const KEEP = 30;
const PAUSE_MS = 1_000;
/** Time to spend on updates before the browser may draw, and while there are many updates to catch up with. */
const SLICE_MS = 8;
const LONG_SLICE_MS = 24;
/** Number of updates from which the page catches up: it draws rarely until it has. */
const MANY = 300;
const DRAW_EVERY_MS = 400;

/** Follows a session until `leave` is called. Updates are applied in batches, once per frame. */
export function watchSession(client: Client, server: ServerStore, id: SessionId): SessionStore {
  const session = client.sessions.open(id);
  const leaving = new AbortController();
  const store = createStore<SessionState>({
    view: newSessionView({ keep: KEEP }),
    spans: noSpans(),
    usage: noSessionUsage,
    link: { state: "connecting" },
    isLoaded: false,
    liveAt: new Map(),
    unreadable: new Map(),
  });
  const change = (part: Partial<SessionState>): void => store.set({ ...store.get(), ...part });

  // Drawing takes longer than applying updates, so the view is ahead of what is drawn while there are many.
  let { view, spans, usage } = store.get();
  const changeView = (part: (before: SessionView) => SessionView): void => {
    view = part(view);
    change({ view });
  };

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
      view = foldSession(view, update);
      spans = foldSpans(spans, update);
      usage = foldUsage(usage, update);
      if (update.seq === undefined) liveAt.set(update.agentId, Date.now());
      if (index % 50 === 49 && performance.now() - startedAt > longest) break;
    }
    waiting = waiting.slice(index + 1);
    // The first part is drawn at once, so that there is something to read.
    if (waiting.length <= MANY || startedAt - drawnAt > DRAW_EVERY_MS) {
      drawnAt = performance.now();
      change({ view, spans, usage, isLoaded: store.get().isLoaded || waiting.length === 0 });
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
      onSnapshot: ({ session: info }) => {
        change({ info });
        plan();
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
    changeView(sessionClosed);
    change({ closed });
  }

  /** Connects again whenever a message has opened the session. */
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
  const stopWatching = server.subscribe(() => {
    const { sessions } = server.get();
    const info = sessions?.find((each) => each.id === id);
    const known = store.get();
    if (info !== undefined && info !== known.info) change({ info });
    // A session that is not open has no stream that could tell.
    if (info === undefined && sessions !== undefined && known.info !== undefined && known.closed !== "deleted")
      change({ closed: "deleted" });
  });

  return {
    ...store,
    open: (agentId) => {
      changeView((before) => openAgent(before, agentId));
      const onSkipped = (numbers: readonly number[]): void =>
        change({ unreadable: new Map(store.get().unreadable).set(agentId, numbers) });
      void (async () => {
        const lines: Line[] = [];
        for await (const line of session.lines(agentId, { onSkipped })) lines.push(line);
        changeView((before) => openAgent(before, agentId, lines));
        // Without the earlier items, the transcript says that they are missing.
      })().catch(() => undefined);
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
