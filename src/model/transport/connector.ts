import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request as sendRequest,
} from "node:http";
import { urlToHttpOptions } from "node:url";
import { errorCode, type HttpProxy, unreachable } from "../../lib/index.ts";

/** Sends requests to one origin over kept-alive connections, each of which carries one request at a time. */
export interface Connector {
  /** Never throws. A request that can't be sent is reported to the listener as failed. */
  send(request: HttpRequest, listener: ExchangeListener): Exchange;
  /** True if the origin has ever responded, in which case a failed connection is worth another attempt. */
  readonly reached: boolean;
  /** Ends all connections. */
  close(): void;
}

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: readonly Uint8Array[];
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** `end` or `failed` is called last, and exactly once unless `drop` or `letGo` is called first. */
export interface ExchangeListener {
  /**
   * Called when the request has a connection, or one is being opened. Time before this call is not spent waiting for
   * the server.
   */
  began(): void;
  /** Called when the operating system has accepted every byte of the request. */
  sent(): void;
  head(head: ResponseHead): void;
  data(bytes: Buffer): void;
  /** `isComplete` is false if the connection broke before the end of the response. */
  end(isComplete: boolean): void;
  /** Called if there was no response, or if the response is not valid HTTP. */
  failed(error: NodeJS.ErrnoException): void;
}

/** A request and its response. After either method is called, the listener is not called again. */
export interface Exchange {
  /** Closes the connection unless the response is complete. */
  drop(): void;
  /** Call this when everything needed has arrived. The connection is kept if the server ends its response soon. */
  letGo(): void;
}

export interface ConnectorOptions {
  readonly proxy: HttpProxy | undefined;
  /** Maximum number of connections. Further requests wait, so that the process has file descriptors left for files. */
  readonly maxConnections: number;
  /** Certificates of authorities to trust instead of the usual ones (PEM). */
  readonly trusted: string | undefined;
}

export async function createConnector(origin: URL, options: ConnectorOptions): Promise<Connector> {
  const agent = await createAgent(origin, options);
  const limit = createLimit(options.maxConnections);
  let reached = false;
  const onResponse = () => {
    reached = true;
  };
  return {
    send: (request, listener) => exchange(request, { listener, agent, limit, proxy: options.proxy, onResponse }),
    get reached() {
      return reached;
    },
    close: () => agent.destroy(),
  };
}

/** Loads `node:https` only if a connection is encrypted. */
async function createAgent(origin: URL, { proxy, trusted }: ConnectorOptions): Promise<Agent> {
  const options = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: Number.POSITIVE_INFINITY };
  const isTunnel = origin.protocol === "https:";
  const server = isTunnel ? origin : (proxy?.url ?? origin);
  if (server.protocol === "http:") return new Agent(options);
  const { createSecureAgent } = await import("./secure-agent.ts");
  return createSecureAgent({ ...options, ca: trusted, server, proxy: isTunnel ? proxy : undefined });
}

/** Starts at most `max` requests at once; the others wait in the order they arrived. */
interface Limit {
  enter(start: () => void): void;
  /** Called when a request is over, or no longer needs to start. */
  leave(start: () => void): void;
}

/** Creates a limit. The limit in Node's HTTP agent ignores connections that are being opened through a proxy. */
function createLimit(max: number): Limit {
  const running = new Set<() => void>();
  const waiting = new Set<() => void>();
  const run = (start: () => void) => {
    running.add(start);
    start();
  };
  return {
    enter(start) {
      if (running.size < max) run(start);
      else waiting.add(start);
    },
    leave(start) {
      waiting.delete(start);
      if (!running.delete(start)) return;
      const [next] = waiting;
      if (next === undefined) return;
      waiting.delete(next);
      run(next);
    },
  };
}

interface ExchangeOptions {
  readonly listener: ExchangeListener;
  readonly agent: Agent;
  readonly limit: Limit;
  readonly proxy: HttpProxy | undefined;
  readonly onResponse: () => void;
}

/** Maximum time that a server may take to end a response after everything needed has arrived. */
const lingerMs = 1_000;
const mostStaleConnections = 5;

function exchange(sent: HttpRequest, { agent, limit, proxy, onResponse, ...options }: ExchangeOptions): Exchange {
  let listener: ExchangeListener | undefined = options.listener;
  let request: ClientRequest | undefined;
  let response: IncomingMessage | undefined;
  let staleConnections = 0;
  let linger: NodeJS.Timeout | undefined;

  function start(): void {
    listener?.began();
    try {
      open();
    } catch (error) {
      limit.leave(start);
      fail(error as NodeJS.ErrnoException);
    }
  }

  function open(): void {
    const length = lengthOf(sent.body);
    const opened = sendRequest({ ...optionsOf(sent, proxy, length), agent });
    let receivedBefore = 0;
    request = opened;
    opened.on("socket", (socket) => {
      // After `letGo`, a connection may be used again without having been idle.
      socket.ref();
      receivedBefore = socket.bytesRead;
    });
    opened.on("finish", () => listener?.sent());
    opened.on("response", receive);
    opened.on("error", (error) => {
      const isStale = opened.reusedSocket && opened.socket?.bytesRead === receivedBefore && isClosed(error);
      if (isStale && listener !== undefined && staleConnections < mostStaleConnections) sendAgain();
      else fail(error);
    });
    opened.on("close", () => {
      if (opened !== request) return;
      clearTimeout(linger);
      // Node's HTTP agent takes the connection back right after this event.
      process.nextTick(() => limit.leave(start));
      // Node reports no error if the server switches protocols.
      if (response === undefined) fail(Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }));
    });
    if (length <= mostCopiedBytes) {
      opened.end(Buffer.concat(sent.body, length));
      return;
    }
    // Nothing is written before the next tick; then all pieces are written in one system call.
    for (const piece of sent.body) opened.write(piece);
    opened.end();
  }

  /**
   * Sends the request again on a new connection, because the server had closed the idle connection that was used. Other
   * idle connections are closed without being tried, because they have been idle for even longer.
   */
  function sendAgain(): void {
    staleConnections += 1;
    for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    open();
  }

  function receive(incoming: IncomingMessage): void {
    response = incoming;
    onResponse();
    incoming.on("data", (bytes: Buffer) => listener?.data(bytes));
    incoming.on("end", () => lastCall()?.end(incoming.complete));
    incoming.on("error", () => lastCall()?.end(false));
    listener?.head({ status: incoming.statusCode ?? 0, headers: incoming.headers });
  }

  function fail(error: NodeJS.ErrnoException): void {
    if (response !== undefined && !isMalformed(error)) lastCall()?.end(false);
    else lastCall()?.failed(isForwarded(sent, proxy) && isUnconnected(error) ? unreachable(proxy, error) : error);
  }

  function lastCall(): ExchangeListener | undefined {
    const last = listener;
    listener = undefined;
    return last;
  }

  const isOver = () => response?.complete && request?.writableFinished;

  limit.enter(start);
  return {
    drop() {
      listener = undefined;
      if (request === undefined) limit.leave(start);
      else if (!isOver()) request.destroy();
    },
    letGo() {
      listener = undefined;
      if (request === undefined || isOver()) return;
      request.socket?.unref();
      linger = setTimeout(() => request?.destroy(), lingerMs).unref();
    },
  };
}

/** Up to this size, copying a body takes less time than writing each of its pieces. */
const mostCopiedBytes = 64 * 1024;

function lengthOf(body: HttpRequest["body"]): number {
  let length = 0;
  for (const piece of body) length += piece.length;
  return length;
}

const mostHeaderBytes = 64 * 1024;

function optionsOf(sent: HttpRequest, proxy: HttpProxy | undefined, length: number): RequestOptions {
  const { method, url } = sent;
  const headers: Record<string, string> = { host: url.host, ...sent.headers };
  if (method === "POST") headers["content-length"] = String(length);
  const direct = { ...urlToHttpOptions(url), method, headers, maxHeaderSize: mostHeaderBytes };
  if (!isForwarded(sent, proxy)) return direct;
  if (proxy.authorization !== undefined) headers["proxy-authorization"] = proxy.authorization;
  const { protocol, hostname, port } = urlToHttpOptions(proxy.url);
  return { ...direct, protocol, hostname, port, path: `${url.origin}${direct.path}` };
}

/** Returns true if a request is sent to the proxy itself, as unencrypted requests are. Other requests use a tunnel. */
function isForwarded({ url }: HttpRequest, proxy: HttpProxy | undefined): proxy is HttpProxy {
  return proxy !== undefined && url.protocol === "http:";
}

function isClosed(error: Error): boolean {
  const code = errorCode(error);
  return code === "ECONNRESET" || code === "EPIPE";
}

function isMalformed(error: Error): boolean {
  return errorCode(error)?.startsWith("HPE_") ?? false;
}

/** Returns true if no connection could be opened. If a host has several addresses, each has its own error. */
function isUnconnected(error: Error): boolean {
  const first: NodeJS.ErrnoException = error instanceof AggregateError ? error.errors[0] : error;
  return first.syscall === "connect" || first.syscall === "getaddrinfo";
}
