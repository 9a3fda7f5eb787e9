import type { WebSocket } from "ws";
import {
  createDeferred,
  type Deferred,
  describeError,
  formatBytes,
  isRecord,
  stripControls,
  UserError,
} from "../lib/index.ts";
import type { Clock } from "../ports/index.ts";
import {
  cancellationOf,
  type IncomingRequest,
  type RequestId,
  type RpcError,
  readMessage,
  writeMessage,
} from "./message.ts";
import { closeCodes, heartbeat, MESSAGE_BYTES } from "./protocol.ts";

/** One WebSocket connection, which ends when the network fails. A `Link` outlives its connections. */
export interface Connection {
  readonly isOpen: boolean;
  /** Resolves with the connection's close code. Never rejects. */
  readonly closed: Promise<number>;
  /**
   * Sends a request. Rejects with a `ConnectionLost` if the connection ends before the answer arrives. If the signal
   * aborts, tells the peer and still waits for its answer.
   */
  request(method: string, parameters: object, signal?: AbortSignal): Promise<unknown>;
  /** Sends a notification, unless the connection is slow or closed. */
  notify(method: string, parameters: object): void;
  close(code: number): void;
}

/**
 * Handles a peer's requests and notifications. Notifications are not answered; errors in their handlers are ignored.
 */
export interface Handlers {
  request(method: string, parameters: unknown, signal: AbortSignal): Promise<unknown>;
  notification(method: string, parameters: unknown): void;
}

/** The error for a request whose connection has ended, so that it is unknown whether the peer received the request. */
export class ConnectionLost extends Error {}

export interface ConnectionOptions {
  /** Interval between pings, in milliseconds. */
  readonly pingMs?: number | undefined;
  /** Time after which a silent peer is considered gone, in milliseconds. */
  readonly silenceMs?: number | undefined;
  readonly clock: Clock;
  readonly handlers: Handlers;
}

/** Number of unsent bytes above which notifications are dropped. */
const SLOW_BYTES = 4 * 1_024 * 1_024;

/** Sends JSON-RPC messages over an open WebSocket. */
export function openConnection(socket: WebSocket, options: ConnectionOptions): Connection {
  const { handlers } = options;
  const closed = createDeferred<number>();
  /** Requests that are waiting for an answer from the peer. */
  const asked = new Map<RequestId, Deferred<unknown>>();
  /** The peer's requests that are being handled. */
  const handled = new Map<RequestId, AbortController>();
  let count = 0;
  const isOpen = (): boolean => socket.readyState === socket.OPEN;
  const stopPings = keepAlive(socket, options);
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary || !receive(data)) socket.close(closeCodes.refused);
  });
  socket.on("error", () => {});
  socket.once("close", (code) => {
    stopPings();
    for (const { reject } of asked.values()) reject(new ConnectionLost());
    asked.clear();
    closed.resolve(code);
  });

  /** Returns false if the message is invalid. */
  function receive(data: Buffer): boolean {
    const message = readMessage(data);
    switch (message?.kind) {
      case "request":
        void handle(message);
        return true;
      case "cancellation":
        handled.get(message.id)?.abort();
        return true;
      case "notification":
        notice(message.method, message.params);
        return true;
      case "result":
        asked.get(message.id)?.resolve(message.result);
        return true;
      case "error":
        asked.get(message.id)?.reject(errorOf(message.error));
        return true;
      case undefined:
        return false;
    }
  }

  async function handle({ id, method, params }: IncomingRequest): Promise<void> {
    const abort = new AbortController();
    handled.set(id, abort);
    const text = await answer(id, () => handlers.request(method, params, abort.signal));
    handled.delete(id);
    // If the connection has ended, the peer asks for the result again.
    if (isOpen()) socket.send(text);
  }

  function notice(method: string, parameters: unknown): void {
    try {
      handlers.notification(method, parameters);
    } catch {
      // A notification has no answer, and the peer can't do anything about it.
    }
  }

  async function request(method: string, parameters: object, signal?: AbortSignal): Promise<unknown> {
    if (!isOpen()) throw new ConnectionLost();
    count += 1;
    const id = count;
    const text = writeMessage({ id, method, params: parameters });
    const problem = tooLarge(text);
    if (problem !== undefined) throw new Error(problem);
    const answered = createDeferred<unknown>();
    asked.set(id, answered);
    socket.send(text);
    const onAbort = (): void => {
      if (isOpen()) socket.send(cancellationOf(id));
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort);
    try {
      // JSON has no undefined.
      return (await answered.promise) ?? undefined;
    } finally {
      asked.delete(id);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  return {
    get isOpen() {
      return isOpen();
    },
    closed: closed.promise,
    request,
    notify: (method, parameters) => {
      if (!isOpen() || socket.bufferedAmount >= SLOW_BYTES) return;
      const text = writeMessage({ method, params: parameters });
      if (tooLarge(text) === undefined) socket.send(text);
    },
    close: (code) => {
      socket.close(code);
      // Do not wait for a peer that does not respond to the close frame.
      setTimeout(() => socket.terminate(), CLOSE_MS).unref();
    },
  };
}

const CLOSE_MS = 1_000;

/** Error code of a response for a `UserError`. The response's `data` contains the error's options. */
const USER_ERROR = 1;
const OTHER_ERROR = 2;

/** Returns a peer's error. Its strings are shown to users, so they are shortened and stripped of control characters. */
function errorOf({ code: kind, message, data }: RpcError): Error {
  if (kind !== USER_ERROR) return new Error(plainText(message));
  const { code, fix, exitCode } = isRecord(data) ? data : {};
  return new UserError(plainText(message), {
    code: typeof code === "string" && /^\w{1,64}$/.test(code) ? code : "peer_error",
    fix: typeof fix === "string" ? plainText(fix) : undefined,
    exitCode: typeof exitCode === "number" ? exitCode : undefined,
  });
}

/** Makes text from a peer safe to show. */
export function plainText(text: unknown): string {
  return stripControls(String(text)).slice(0, MAX_TEXT);
}

const MAX_TEXT = 2_000;

/** Performs a peer's request and returns the message with the result or the error. */
async function answer(id: RequestId, work: () => Promise<unknown>): Promise<string> {
  try {
    const text = writeMessage({ id, result: (await work()) ?? null });
    const problem = tooLarge(text);
    if (problem === undefined) return text;
    throw new Error(problem);
  } catch (error) {
    return writeMessage({ id, error: describe(error) });
  }
}

function describe(error: unknown): RpcError {
  if (!(error instanceof UserError)) return { code: OTHER_ERROR, message: describeError(error) };
  const { message, code, fix, exitCode } = error;
  return { code: USER_ERROR, message, data: { code, fix, exitCode } };
}

/** Returns the problem with a message that is too large; undefined if it can be sent. */
function tooLarge(text: string): string | undefined {
  const bytes = text.length * 3 > MESSAGE_BYTES ? Buffer.byteLength(text) : 0;
  if (bytes <= MESSAGE_BYTES) return undefined;
  return `The message is too large (${formatBytes(bytes)}): at most ${formatBytes(MESSAGE_BYTES)} can be sent.`;
}

/** Sends pings, and ends the connection if nothing is heard from the peer. Returns a function that stops the pings. */
function keepAlive(socket: WebSocket, options: ConnectionOptions): () => void {
  const { clock, pingMs = heartbeat.pingMs, silenceMs = heartbeat.silenceMs } = options;
  let heardAt = clock.monotonic();
  let lookedAt = heardAt;
  const hear = (): void => {
    heardAt = clock.monotonic();
  };
  for (const event of ["message", "ping", "pong"]) socket.on(event, hear);
  const timer = setInterval(() => {
    const now = clock.monotonic();
    // If this process was suspended or busy, messages from the peer may still be unread.
    if (now - lookedAt > 2 * pingMs) heardAt = now;
    lookedAt = now;
    if (now - heardAt > silenceMs) socket.terminate();
    else if (socket.readyState === socket.OPEN) socket.ping();
  }, pingMs);
  timer.unref();
  return () => clearInterval(timer);
}
