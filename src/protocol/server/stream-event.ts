import type { SessionId } from "../ids.ts";
import type { SessionInfo, WaitingApproval, WorkerInfo } from "./api.ts";

/** First event in a session's stream, with the session's state and all unanswered requests. Never replayed. */
export interface SessionSnapshot {
  readonly type: "session_snapshot";
  readonly session: SessionInfo;
  readonly approvals: readonly WaitingApproval[];
}

/** Last event in a session's stream. */
export interface SessionClosed {
  readonly type: "session_closed";
  /**
   * `ended`: no process has the session open anymore. `idle`: the session had nothing to do. `server_stopped`: the
   * session continues when the server is restarted. `worker_lost`: the session continues when its worker is connected
   * again.
   */
  readonly reason: "ended" | "idle" | "deleted" | "server_stopped" | "worker_lost";
  /** Tells the user what to do if the worker is lost. */
  readonly detail?: string | undefined;
}

/** An event in the stream of all sessions. The first event contains everything; later events contain only changes. */
export type ServerEvent =
  | {
      readonly type: "server_snapshot";
      readonly sessions: readonly SessionInfo[];
      readonly approvals: readonly WaitingApproval[];
      readonly workers: readonly WorkerInfo[];
    }
  | { readonly type: "session_changed"; readonly session: SessionInfo }
  | { readonly type: "session_deleted"; readonly sessionId: SessionId }
  | { readonly type: "approval_requested"; readonly approval: WaitingApproval }
  /** The request was answered or withdrawn. */
  | { readonly type: "approval_settled"; readonly sessionId: SessionId; readonly requestId: string }
  | { readonly type: "workers_changed"; readonly workers: readonly WorkerInfo[] };
