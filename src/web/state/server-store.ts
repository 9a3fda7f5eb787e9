import { type Client, ClientError } from "../../client/index.ts";
import type { ServerEvent, SessionInfo, WaitingApproval, WorkerInfo } from "../../protocol/index.ts";
import { createStore, type Store } from "./store.ts";

/** State of a connection, as shown to people. `error` is set if it was lost; after `refused`, there are no retries. */
export interface Link {
  readonly state: "connecting" | "connected" | "lost" | "refused";
  readonly error?: ClientError | undefined;
}

/** State of the server: all sessions, open requests, and workers. */
export interface ServerState {
  readonly link: Link;
  /** Newest first. Undefined until the first connection. */
  readonly sessions: readonly SessionInfo[] | undefined;
  /** Oldest first. */
  readonly approvals: readonly WaitingApproval[];
  readonly workers: readonly WorkerInfo[];
}

export type ServerStore = Store<ServerState>;

/** Follows the server's events as long as the page is open. */
export function watchServer(client: Client): ServerStore {
  const store = createStore<ServerState>({
    link: { state: "connecting" },
    sessions: undefined,
    approvals: [],
    workers: [],
  });
  const onState: NonNullable<Parameters<Client["events"]>[0]>["onState"] = (state) =>
    store.set({ ...store.get(), link: linkOf(state) });
  void (async () => {
    try {
      for await (const event of client.events({ onState })) store.set(withEvent(store.get(), event));
    } catch (error) {
      store.set({ ...store.get(), link: { state: "refused", error: asClientError(error) } });
    }
  })();
  return store;
}

export function linkOf(state: { readonly state: "connected" | "lost"; readonly error?: ClientError }): Link {
  return { state: state.state, error: state.error };
}

/** Returns an error text for people, without advice about headers or ids. */
export function asClientError(error: unknown): ClientError {
  if (error instanceof ClientError) {
    const { status, code } = error;
    if (code === "unknown_session") return new ClientError({ status, code, detail: "This session was deleted." });
    if (status === 401) return new ClientError({ status, code, detail: SIGNED_OUT });
    return error;
  }
  return new ClientError({ status: 0, code: "bug", detail: `This is a bug in the page: ${String(error)}` });
}

const SIGNED_OUT = "This page is no longer signed in. Open the link that retinue serve printed.";

function withEvent(state: ServerState, event: ServerEvent): ServerState {
  const { sessions = [], approvals } = state;
  switch (event.type) {
    case "server_snapshot":
      return { ...state, sessions: event.sessions, approvals: event.approvals, workers: event.workers };
    case "session_changed": {
      const others = sessions.filter(({ id }) => id !== event.session.id);
      const changed = [event.session, ...others].sort((left, right) => right.updatedAt - left.updatedAt);
      return { ...state, sessions: changed };
    }
    case "session_deleted":
      return { ...state, sessions: sessions.filter(({ id }) => id !== event.sessionId) };
    case "approval_requested":
      return { ...state, approvals: [...approvals, event.approval] };
    case "approval_settled":
      return {
        ...state,
        approvals: approvals.filter(({ question }) => question.requestId !== event.requestId),
      };
    case "workers_changed":
      return { ...state, workers: event.workers };
  }
}
