import type { IncomingMessage } from "node:http";
import { win32 } from "node:path";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { isRecord, UserError } from "../lib/index.ts";
import type { Clock, WorkerChange } from "../ports/index.ts";
import { type Connection, type ConnectionOptions, openConnection, plainText } from "./connection.ts";
import { closeCodes, type Hello, MESSAGE_BYTES, PROTOCOL, type ProtocolRange, type Welcome } from "./protocol.ts";
import { type RemoteWorker, WorkerRecord } from "./remote-worker.ts";

/** The workers that are connected to a server. */
export interface WorkerHub {
  /** Handles an upgrade request. The caller has checked the path, the host, the origin and the token. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Returns all workers that have connected, including those that are lost. */
  workers(): readonly RemoteWorker[];
  /** Sets a function that is called for each new worker, and that returns the reason if the worker must be refused. */
  guard(refuses: (worker: NewWorker) => string | undefined): void;
  /** Calls the listener on every change. Returns a function that removes the listener. */
  onChange(listener: WorkerListener): () => void;
  /** Closes all connections, so that requests to workers fail. */
  close(): Promise<void>;
}

/** A worker that is trying to connect. */
export interface NewWorker {
  readonly name: string;
  /** Real path of its directory. */
  readonly root: string;
  /** Identifies its machine. */
  readonly machine: string;
}

export type WorkerListener = (worker: RemoteWorker, change: WorkerChange) => void;

export interface WorkerHubOptions extends Pick<ConnectionOptions, "pingMs" | "silenceMs"> {
  /** Version of Retinue. */
  readonly version: string;
  /** Time that a worker has to reconnect before it is considered lost. */
  readonly graceMs?: number | undefined;
  readonly clock: Clock;
}

const GRACE_MS = 15_000;

/** Time that a worker has to introduce itself. */
const HELLO_MS = 10_000;

export function createWorkerHub({ version, graceMs = GRACE_MS, clock, ...pings }: WorkerHubOptions): WorkerHub {
  const records = new Map<string, WorkerRecord>();
  const listeners = new Set<WorkerListener>();
  const server = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES, perMessageDeflate: false });
  let isClosed = false;
  let refuses: (worker: NewWorker) => string | undefined = () => undefined;
  const onChange: WorkerListener = (worker, change) => {
    for (const listener of [...listeners]) listener(worker, change);
  };

  function greet(socket: WebSocket): void {
    let record: WorkerRecord | undefined;
    const late = setTimeout(() => connection.close(closeCodes.refused), HELLO_MS);
    const connection = openConnection(socket, {
      ...pings,
      clock,
      handlers: {
        request: async (method, parameters, signal) => {
          if (record) return record.request(method, parameters);
          clearTimeout(late);
          if (method !== "hello") throw new Error("The first request on a connection must be hello.");
          const hello = readHello(parameters, version);
          if (signal.aborted || !connection.isOpen || isClosed) throw new Error("The connection is closed.");
          record = recordOf(hello);
          return welcome(record, hello, connection);
        },
        notification: (method, parameters) => record?.notification(method, parameters),
      },
    });
    void connection.closed.then(() => clearTimeout(late));
  }

  /** Returns the record of a worker. Throws if another worker has the same name. */
  function recordOf(hello: Hello): WorkerRecord {
    const { name, machine, facts } = hello;
    const reason = refuses({ name, machine, root: facts.root });
    if (reason !== undefined) throw new UserError(reason, { ...taken, fix: OTHER_NAME });
    const known = records.get(name);
    if (known?.isSame(hello) || known?.isGone) return known;
    if (known) throw nameTaken(hello, known);
    const created = new WorkerRecord(hello, { graceMs, clock, onChange });
    records.set(hello.name, created);
    return created;
  }

  return {
    accept: (request, socket, head) => {
      if (isClosed) socket.destroy();
      else server.handleUpgrade(request, socket, head, greet);
    },
    workers: () => [...records.values()].map(({ worker }) => worker),
    guard: (given) => {
      refuses = given;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      isClosed = true;
      for (const record of records.values()) record.end();
      const gone = [...server.clients].map((client) => new Promise((resolve) => client.once("close", resolve)));
      for (const client of server.clients) client.close(closeCodes.leaving);
      const timer = setTimeout(() => server.clients.forEach((client) => void client.terminate()), 500);
      await Promise.all(gone);
      clearTimeout(timer);
    },
  };
}

function welcome(record: WorkerRecord, hello: Hello, connection: Connection): Welcome {
  const closed = record.attach(hello, connection);
  if (closed === undefined) throw new Error("The worker has a newer connection.");
  return { protocol: Math.min(hello.protocol.newest, PROTOCOL.newest), closed };
}

/** Checks a greeting. Throws a `UserError` that the worker shows to its user. */
function readHello(value: unknown, version: string): Hello {
  const hello = value as Hello;
  if (isRecord(value) && isText(value["name"]) && !/^[\w-][\w.-]{0,63}$/.test(hello.name))
    throw new UserError(`A worker can't be named "${plainText(hello.name)}"`, {
      code: "worker_name",
      fix: "Use at most 64 letters, digits, dots, dashes and underscores. The first character can't be a dot.",
      exitCode: 2,
    });
  const isComplete =
    isRecord(value) &&
    isRecord(value["protocol"]) &&
    isRecord(value["facts"]) &&
    Array.isArray(value["sessions"]) &&
    value["sessions"].every(isHeldSession) &&
    [hello.name, hello.machine, hello.ledger, hello.instance, hello.version, hello.facts.platform].every(isPlain) &&
    isText(hello.facts.root) &&
    // Accepts absolute paths from any operating system.
    win32.isAbsolute(hello.facts.root);
  if (isComplete && speaksWith(hello.protocol)) return hello;
  const theirs = isComplete ? hello.version : "unknown";
  const isOlder = !isComplete || !(hello.protocol.newest >= PROTOCOL.oldest);
  const fix = isOlder
    ? `Upgrade the worker to version ${version}.`
    : `Upgrade the server to version ${theirs}, or install version ${version} on the worker.`;
  const message = `The server has version ${version} of Retinue and can't work with a worker that has version ${theirs}`;
  throw new UserError(message, { code: "worker_protocol", fix, exitCode: 2 });
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length < 5_000;
}

/**
 * Returns whether a value is a string without control characters, as is required for all strings in a greeting except
 * the directory.
 */
function isPlain(value: unknown): boolean {
  return isText(value) && !/\p{Cc}/u.test(value);
}

function isHeldSession(value: unknown): boolean {
  return isRecord(value) && isText(value["sessionId"]) && Number.isSafeInteger(value["lease"]);
}

function speaksWith({ oldest, newest }: ProtocolRange): boolean {
  return oldest <= PROTOCOL.newest && newest >= PROTOCOL.oldest;
}

function nameTaken({ name, facts }: Hello, known: WorkerRecord): UserError {
  const elsewhere = facts.root === known.root ? ", from another machine or with another RETINUE_HOME" : "";
  const message = `A worker named "${name}" is already connected for ${plainText(known.root)}${elsewhere}`;
  return new UserError(message, { ...taken, fix: OTHER_NAME });
}

const taken = { code: "worker_name_taken", exitCode: 2 };
const OTHER_NAME = "Choose another name with --name.";
