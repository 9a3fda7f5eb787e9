import type {
  ClosingOptions,
  ExecuteRequest,
  ToolExecutor,
  ToolSpec,
  WorkerFacts,
  WorkerPort,
  WorkerSession,
  WorkerSessionOptions,
} from "../ports/index.ts";
import type { CallId, SessionId, ToolCall } from "../protocol/index.ts";

/** Versions of the protocol that this program speaks. */
export const PROTOCOL: ProtocolRange = { oldest: 1, newest: 1 };

/** Path on the server to which workers connect. */
export const WORKER_PATH = "/worker/link";

export interface ProtocolRange {
  readonly oldest: number;
  readonly newest: number;
}

/** First request on a connection, from the worker. */
export interface Hello {
  readonly protocol: ProtocolRange;
  /** Version of Retinue. */
  readonly version: string;
  readonly name: string;
  /** Identifies the machine, so that two workers with the same name and directory can be told apart. */
  readonly machine: string;
  /** Identifies the worker's ledgers. A process can take over from another one only if it has the same ledgers. */
  readonly ledger: string;
  /** Identifies the worker's process. */
  readonly instance: string;
  /** Number of this connection, counted within the instance. */
  readonly connection: number;
  readonly facts: WorkerFacts;
  readonly sessions: readonly HeldSession[];
}

/** A session that a worker has open. */
export interface HeldSession extends SessionRef {
  /** Calls whose results the server has not acknowledged. */
  readonly calls: readonly CallId[];
}

/** A session that a server has opened. The lease is higher each time the session is opened. */
export interface SessionRef {
  readonly sessionId: SessionId;
  readonly lease: number;
}

/** The server's answer to `Hello`. */
export interface Welcome {
  readonly protocol: number;
  /** Sessions that were closed while the worker was not connected, and that the worker now closes too. */
  readonly closed: readonly ClosedSession[];
}

/** A session that a server has closed. */
export type ClosedSession = SessionRef & ClosingOptions;

/**
 * Methods of a worker that accept one plain value and return one. They can be repeated, so they are sent again if the
 * connection was lost. To make another method available over a link, add its name here.
 */
export const portMethods = [
  "sweep",
  "snapshot",
  "settings",
  "openMemory",
] as const satisfies readonly (keyof WorkerPort)[];

/**
 * Methods of a worker's session that accept one plain value, and possibly a signal, and return a plain value. Each
 * request has an id: a request that is sent again gets the result of the first one.
 */
export const sessionMethods = [
  "runHook",
  "connectServers",
  "releaseServers",
  "openWorktree",
  "leaveWorktree",
  "keepRule",
  "restoreFile",
] as const satisfies readonly (keyof WorkerSession)[];

/** Methods of a session's environment, all of which can be repeated. */
export const environmentMethods = [
  "commands",
  "git",
] as const satisfies readonly (keyof WorkerSession["environment"])[];

/** Methods of an executor that can be repeated, and whose arguments are sent as a list. */
export const executorMethods = [
  "judge",
  "inherit",
  "release",
  "close",
] as const satisfies readonly (keyof ToolExecutor)[];

export type PortMethod = (typeof portMethods)[number];
export type SessionMethod = (typeof sessionMethods)[number];
export type ExecutorMethod = (typeof executorMethods)[number];

/** Fields of every request about a session. */
export interface SessionRequest extends SessionRef {
  /** Ids of requests whose results the server has used, so that the worker can forget them. */
  readonly acknowledged?: readonly string[] | undefined;
}

export type OpenRequest = SessionRef & { readonly options: Omit<WorkerSessionOptions, "results" | "report"> };

export interface OpenedSession extends Pick<WorkerSession, "readableRoots"> {
  readonly platform: string;
  /** The worker's tools, which are the same in every directory. */
  readonly tools: readonly ToolSpec[];
}

/** A request with an id, which is performed once, no matter how often it is sent. */
export interface OnceRequest extends SessionRequest {
  readonly id: string;
  readonly argument: unknown;
}

/** An executor for a directory or for connected MCP servers, which the worker creates on first use. */
export type ExecutorRef = { readonly id: string } & ({ readonly root: string } | { readonly connectionId: string });

export interface ExecutorRequest extends SessionRequest {
  readonly executor: ExecutorRef;
  readonly arguments: readonly unknown[];
}

export interface CallRequest extends SessionRequest {
  readonly id: string;
  readonly executor: ExecutorRef;
  readonly request: ExecuteRequest;
}

/** Tells the worker that a session was deleted. */
export interface ForgetRequest {
  readonly sessionId: SessionId;
}

export interface RecallRequest {
  readonly sessionId: SessionId;
  readonly call: ToolCall;
}

/** Progress of a call, sent by the worker. */
export interface ProgressNotice extends SessionRef {
  readonly id: string;
  readonly text: string;
}

/** A message for the user, sent by the worker. */
export interface ReportNotice extends SessionRef {
  readonly message: string;
}

/** Part of the text that the worker stores on the server. */
export interface SavePart extends SessionRef {
  /** Identifies the text, so that parts that are sent again are recognized. */
  readonly transfer: string;
  readonly id: string;
  readonly part: number;
  readonly isLast: boolean;
  readonly text: string;
  /** Set if the text is the content of a file in base64, because not every file is UTF-8. */
  readonly isBase64?: true | undefined;
}

export type SavedPart =
  | { readonly address: string }
  | { /** Number of the part to send next. */ readonly next: number };

/**
 * Maximum number of characters or bytes in one part of a long result, so that no message occupies a process for long.
 */
export const PART_CHARACTERS = 256 * 1_024;

/** Number of calls that run on a worker at the same time. Further calls wait on the server. */
export const CALLS_AT_ONCE = 256;

/** Maximum size of a message. */
export const MESSAGE_BYTES = 32 * 1_024 * 1_024;

/** Interval between pings, and the time after which a silent peer is considered gone. */
export const heartbeat = { pingMs: 5_000, silenceMs: 15_000 };

/** Close codes of connections. */
export const closeCodes = {
  /** The server or the worker is stopping. */
  leaving: 1001,
  /** The server refused the worker. */
  refused: 1008,
  /** The same worker has a newer connection. */
  replaced: 4000,
  /** Another process of the same worker has connected. */
  superseded: 4001,
  /** The server did not answer the worker's greeting in time. The worker connects again. */
  unanswered: 4002,
} as const;
