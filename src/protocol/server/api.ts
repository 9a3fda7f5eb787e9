import type { EndReason, Outcome } from "../events/outcome.ts";
import type { AgentId, SessionId } from "../ids.ts";
import type { ApprovalQuestion } from "../permissions/approval.ts";
import type { PermissionMode } from "../permissions/permission.ts";

/**
 * What a token allows. `read`: see sessions. `prompt`: start, steer and stop sessions. `approve`: answer requests for
 * approval and questions, and choose a permission mode that asks less. `admin`: delete sessions. `worker`: connect as a
 * worker, and nothing else.
 */
export type Scope = "read" | "prompt" | "approve" | "admin" | "worker";

/** Body of every response with an error status (RFC 9457). */
export interface Problem {
  readonly status: number;
  /** Short name for programs, such as `unknown_session`. */
  readonly code: string;
  /** Says in one or two sentences what happened and what to do. */
  readonly detail: string;
}

/**
 * `running`: at least one agent is working. `waiting`: all agents that could work wait for an approval. `idle`: open,
 * with nothing to do. `parked`: goes on when its worker returns or the session is resumed. `ended`: not open.
 */
export type SessionState = "running" | "waiting" | "idle" | "parked" | "ended";

/** A session in a list. */
export interface SessionInfo {
  readonly id: SessionId;
  /** Name of the worker that the session's tools run on. */
  readonly worker: string;
  /** Directory of the session on its worker. */
  readonly cwd: string;
  readonly state: SessionState;
  /** Why a session is parked, or what is wrong with its files. */
  readonly detail?: string | undefined;
  /**
   * Messages for the user from the opening of the session, for example about the offline model or an invalid rule. Absent
   * if the server does not have the session open.
   */
  readonly notices?: readonly string[] | undefined;
  /** The most that all agents together may cost, in US dollars, if the client that started the session has set it. */
  readonly maxCost?: number | undefined;
  /** Set if another process has the session open. It can be watched and steered, but not deleted. */
  readonly elsewhere?: true | undefined;
  /** Start of the first prompt. */
  readonly title?: string | undefined;
  readonly model?: string | undefined;
  readonly createdAt?: number | undefined;
  readonly updatedAt: number;
  /** How the last run of the main agent ended, if it has ended. */
  readonly outcome?: Outcome | undefined;
  readonly reason?: EndReason | undefined;
  readonly turns: number;
  /** Number of requests that wait for an approval. */
  readonly approvals: number;
}

/** What a client says to start a session. */
export interface NewSession {
  /** First prompt. Without one, the session waits for a message. */
  readonly prompt?: string | undefined;
  /** Name of a connected worker. By default, the server's own worker. */
  readonly worker?: string | undefined;
  /** Agent to run as the main agent. */
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  readonly permissionMode?: PermissionMode | undefined;
  readonly maxTurns?: number | undefined;
  /** The most that all agents together may cost, in US dollars. */
  readonly maxCost?: number | undefined;
  /** The most tokens that all agents together may use. */
  readonly maxTokens?: number | undefined;
}

/** An agent of a session in a list. */
export interface AgentInfo {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly name?: string | undefined;
  readonly description: string;
  /** Ids of the agents from the main agent's child down to this one. Empty for the main agent. */
  readonly path: readonly AgentId[];
}

/** A request for approval that waits for an answer. */
export interface WaitingApproval {
  readonly question: ApprovalQuestion;
  /** Milliseconds since 1970. */
  readonly askedAt: number;
}

/** A worker that sessions can be started on. */
export interface WorkerInfo {
  readonly name: string;
  /** Directory that the worker owns. */
  readonly root: string;
  readonly platform: string;
  /** `lost`: the worker has not returned in time. Its sessions are parked until it does. */
  readonly state: "connected" | "reconnecting" | "lost";
}
