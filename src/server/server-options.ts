import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock, WorkerChange, WorkerPort } from "../ports/index.ts";
import type { SessionId, WorkerInfo } from "../protocol/index.ts";

/** A worker in another process, perhaps on another machine. */
export interface RemoteWorker extends WorkerPort {
  readonly name: string;
  readonly state: WorkerInfo["state"];
  /** Deletes a deleted session's files from the worker's machine. Rejects if the worker is not connected. */
  forget(sessionId: SessionId): Promise<void>;
  /**
   * Cancels calls that earlier servers started: those that the session is waiting for now, and those that it begins to
   * wait for before the promise settles.
   */
  cancelRecalled(sessionId: SessionId, until: Promise<unknown>): void;
}

/** Workers that have connected to the server. */
export interface WorkerHub {
  /** Takes over the connection of a worker. The caller has checked the worker's token. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  workers(): readonly RemoteWorker[];
  /** Sets a function that is called for each new worker, and that returns the reason if the worker must be refused. */
  guard(refuses: (worker: NewWorker) => string | undefined): void;
  /** Calls the listener on every change. Returns a function that removes the listener. */
  onChange(listener: (worker: RemoteWorker, change: WorkerChange) => void): () => void;
  close(): Promise<void>;
}

/** A worker that wants to connect. */
export interface NewWorker {
  readonly name: string;
  /** Real path of its directory. */
  readonly root: string;
  /** Identifies its machine. */
  readonly machine: string;
}

export interface ServerOptions {
  /** State directory. */
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Directories whose sessions are served. Each is a separate worker; the first one is the default. */
  readonly projects: readonly string[];
  /** Port to listen on. 0 for any free port. */
  readonly port: number;
  /** Address to listen on; defaults to 127.0.0.1. */
  readonly host?: string | undefined;
  /** Additional host names that the server accepts. */
  readonly allowHosts?: readonly string[] | undefined;
  /** Origins of other sites that may call the server from a browser. */
  readonly allowOrigins?: readonly string[] | undefined;
  /** Certificate and key in PEM format. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Whether to listen on a network address without TLS. */
  readonly insecure?: boolean | undefined;
  /** Directory with the files of the web view. */
  readonly web?: string | undefined;
  readonly hub?: WorkerHub | undefined;
  readonly clock: Clock;
  /** Whether sessions that were working when the last server stopped continue automatically; defaults to true. */
  readonly resume?: boolean | undefined;
  /** Receives messages for the person who runs the server. */
  readonly report: (message: string) => void;
  readonly limits?: Partial<Limits> | undefined;
}

export interface Limits {
  readonly bodyBytes: number;
  readonly headerBytes: number;
  /** Time that a client has to send its headers. */
  readonly headersMs: number;
  /** Time that a client has to send a whole request. */
  readonly requestMs: number;
  /** Time after which a connection on which the client has sent nothing is closed. */
  readonly silentMs: number;
  /** Maximum number of connections, half of which are available to clients that have not sent a valid token. */
  readonly connections: number;
  /** Maximum number of concurrent event streams. */
  readonly streams: number;
  readonly keepAliveMs: number;
  /** Time after which an event stream is closed if its client reads nothing. */
  readonly stuckMs: number;
  /** Time after which an idle session without readers is closed. */
  readonly idleMs: number;
  /** Time that sessions have to park when the server is stopped. */
  readonly stopMs: number;
}

/** The limits that are the same on every machine. */
export const defaultLimits: Omit<Limits, "connections" | "streams"> = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  silentMs: 3_000,
  keepAliveMs: 15_000,
  stuckMs: 30_000,
  idleMs: 60_000,
  stopMs: 5_000,
};
