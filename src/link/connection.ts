import {
  AbstractMessageReader,
  AbstractMessageWriter,
  CancellationTokenSource,
  createMessageConnection,
  type DataCallback,
  type Disposable,
  Message,
  type MessageReader,
  type MessageWriter,
  ResponseError,
} from "vscode-jsonrpc/node";
import type { WebSocket } from "ws";
import { createDeferred, describeError, formatBytes, isRecord, stripControls, UserError } from "../lib/index.ts";
import type { Clock } from "../ports/index.ts";
import { closeCodes, heartbeat, MESSAGE_BYTES } from "./protocol.ts";

/** One WebSocket connection. It ends when the network fails; a `Link` outlives it. */
export interface Connection {
  readonly isOpen: boolean;
  /** Resolves with the close code of the connection. Never rejects. */
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

/** Handles a peer's requests and notifications. Notifications have no answer; errors in their handlers are ignored. */
export interface Handlers {
  request(method: string, parameters: unknown, signal: AbortSignal): Promise<unknown>;
  notification(method: string, parameters: unknown): void;
}

/** Rejects a request whose connection ended. It is not known whether the peer received the request. */
export class ConnectionLost extends Error {}

export interface ConnectionOptions {
  /** Interval of pings in milliseconds. */
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
  const rpc = createMessageConnection(new SocketReader(socket), new SocketWriter(socket));
  const isOpen = (): boolean => socket.readyState === socket.OPEN;
  rpc.onRequest((method, parameters, token) => {
    const abort = new AbortController();
    if (token.isCancellationRequested) abort.abort();
    token.onCancellationRequested(() => abort.abort());
    return answer(() => handlers.request(method, parameters, abort.signal));
  });
  rpc.onNotification((method, parameters) => {
    try {
      handlers.notification(method, parameters);
    } catch {
      // A notification has no answer, and the peer can't do anything about it.
    }
  });
  rpc.onError(() => {});
  const stopPings = keepAlive(socket, options);
  socket.on("error", () => {});
  socket.once("close", (code) => {
    stopPings();
    rpc.dispose();
    closed.resolve(code);
  });
  rpc.listen();

  async function request(method: string, parameters: object, signal?: AbortSignal): Promise<unknown> {
    if (!isOpen()) throw new ConnectionLost();
    const cancellation = new CancellationTokenSource();
    const onAbort = (): void => cancellation.cancel();
    try {
      const result = rpc.sendRequest(method, parameters, cancellation.token);
      if (signal?.aborted) onAbort();
      else signal?.addEventListener("abort", onAbort);
      // JSON has no undefined.
      return (await result) ?? undefined;
    } catch (error) {
      if (!(error instanceof ResponseError)) throw isOpen() ? error : new ConnectionLost();
      if (error.code === USER_ERROR) throw userErrorOf(error);
      throw isOpen() ? new Error(plainText(error.message)) : new ConnectionLost();
    } finally {
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
      if (isOpen() && socket.bufferedAmount < SLOW_BYTES)
        rpc.sendNotification(method, parameters).catch(() => undefined);
    },
    close: (code) => {
      socket.close(code);
      // Do not wait for a peer that does not answer the close.
      setTimeout(() => socket.terminate(), CLOSE_MS).unref();
    },
  };
}

const CLOSE_MS = 1_000;

/** Code of an error response for a `UserError`. Its data are the options of the error. */
const USER_ERROR = 1;
const OTHER_ERROR = 2;

interface ErrorData {
  readonly code: string;
  readonly cure?: string | undefined;
  readonly exitCode?: number | undefined;
}

/** Returns a peer's error. Its texts are shown to users, so they are shortened and stripped of control characters. */
function userErrorOf({ message, data }: ResponseError<unknown>): UserError {
  const { code, cure, exitCode } = isRecord(data) ? data : {};
  return new UserError(plainText(message), {
    code: typeof code === "string" && /^\w{1,64}$/.test(code) ? code : "peer_error",
    cure: typeof cure === "string" ? plainText(cure) : undefined,
    exitCode: typeof exitCode === "number" ? exitCode : undefined,
  });
}

/** Makes text from a peer safe to show. */
export function plainText(text: unknown): string {
  return stripControls(String(text)).slice(0, MAX_TEXT);
}

const MAX_TEXT = 2_000;

async function answer(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UserError)) return new ResponseError(OTHER_ERROR, describeError(error));
    const { message, code, cure, exitCode } = error;
    return new ResponseError<ErrorData>(USER_ERROR, message, { code, cure, exitCode });
  }
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

class SocketReader extends AbstractMessageReader implements MessageReader {
  private readonly socket: WebSocket;

  constructor(socket: WebSocket) {
    super();
    this.socket = socket;
  }

  listen(callback: DataCallback): Disposable {
    const onMessage = (data: Buffer, isBinary: boolean): void => {
      const message = isBinary ? undefined : parse(data);
      if (message === undefined) this.socket.close(closeCodes.refused);
      else callback(message);
    };
    this.socket.on("message", onMessage);
    return { dispose: () => void this.socket.off("message", onMessage) };
  }
}

function parse(data: Buffer): Message | undefined {
  try {
    const message = JSON.parse(data.toString("utf8"));
    return isRecord(message) && isSound(message) ? (message as unknown as Message) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the library can handle a message. It trusts the parameters of its own methods, such as cancellation. */
function isSound({ method, params }: Readonly<Record<string, unknown>>): boolean {
  if (typeof method !== "string" || !method.startsWith("$/")) return true;
  return method === "$/cancelRequest" && isRecord(params);
}

class SocketWriter extends AbstractMessageWriter implements MessageWriter {
  private readonly socket: WebSocket;

  constructor(socket: WebSocket) {
    super();
    this.socket = socket;
  }

  async write(message: Message): Promise<void> {
    // The result of a request whose connection has ended is requested again.
    if (this.socket.readyState !== this.socket.OPEN) return;
    const text = JSON.stringify(message);
    const bytes = text.length * 3 > MESSAGE_BYTES ? Buffer.byteLength(text) : 0;
    if (bytes <= MESSAGE_BYTES) return this.socket.send(text);
    const problem = `The message is too large (${formatBytes(bytes)}): at most ${formatBytes(MESSAGE_BYTES)} can be sent.`;
    if (!Message.isResponse(message)) throw new Error(problem);
    this.socket.send(JSON.stringify({ ...message, result: undefined, error: { code: OTHER_ERROR, message: problem } }));
  }

  end(): void {}
}
