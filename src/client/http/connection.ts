import { createParser, type EventSourceMessage } from "eventsource-parser";
import { ClientError, errorFrom, unreachable } from "./client-error.ts";

/** Options for `createClient`. */
export interface ClientOptions {
  /** The server's address, such as `http://127.0.0.1:7333`. */
  readonly url: string;
  /**
   * The server's token. If it is a function, it is called before each request, and again if the server refuses the
   * token.
   */
  readonly token: string | (() => string | Promise<string>);
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  readonly reconnect?: Reconnect | undefined;
}

/** Times in milliseconds. */
export interface Reconnect {
  /** Delay before the first attempt to reconnect. Each further delay is twice as long. */
  readonly firstMs?: number | undefined;
  readonly longestMs?: number | undefined;
  /** Time without any data after which a connection is considered lost. The server sends data more often than that. */
  readonly quietMs?: number | undefined;
}

/** Sends requests to one server. */
export interface Connection {
  /** Sends a request. Rejects with a `ClientError` if the request fails. */
  request(method: string, path: string, options?: RequestOptions): Promise<Response>;
  json<Value>(method: string, path: string, options?: RequestOptions): Promise<Value>;
  /** Yields a stream's events, and reconnects when the connection is lost. */
  stream(path: string, options: StreamOptions): AsyncGenerator<EventSourceMessage>;
}

export interface RequestOptions {
  readonly body?: object | undefined;
  /** Stops waiting for the response. */
  readonly signal?: AbortSignal | undefined;
}

/** State of a stream's connection. */
export type ConnectionState =
  /** `at`: the server's time in milliseconds since 1970, possibly up to a second behind. */
  | { readonly state: "connected"; readonly at: number }
  /** The client retries automatically. */
  | { readonly state: "lost"; readonly error: ClientError; readonly retryInMs: number };

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onState?: ((state: ConnectionState) => void) | undefined;
  /** Returns the position after which the next connection continues. */
  readonly position?: (() => number) | undefined;
}

export function createConnection(options: ClientOptions): Connection {
  checkOptions(options);
  const { url, token, fetch: given, reconnect = {} } = options;
  const send = given ?? globalThis.fetch.bind(globalThis);
  const base = new URL(url);
  const { firstMs = 250, longestMs = 10_000, quietMs = 60_000 } = reconnect;

  async function open(path: string, init: RequestInit): Promise<Response> {
    let response = await attempt(path, init);
    if (response.status === 401 && typeof token === "function") {
      await response.body?.cancel();
      // A server that has just been started may not have published its token yet.
      await wait(firstMs, init.signal ?? undefined);
      response = await attempt(path, init);
    }
    if (!response.ok) throw await errorFrom(response);
    return response;
  }

  async function attempt(path: string, init: RequestInit): Promise<Response> {
    const target = `${base.origin}${base.pathname.replace(/\/$/, "")}${path}`;
    const authorization = `Bearer ${typeof token === "string" ? token : await token()}`;
    const headers = { authorization, ...init.headers };
    // A redirect could send the token elsewhere.
    return send(target, { ...init, headers, redirect: "error" }).catch((error: unknown) => {
      throw unreachable(url, error);
    });
  }

  async function request(method: string, path: string, { body, signal }: RequestOptions = {}): Promise<Response> {
    const init = { method, signal: signal ?? null };
    if (body === undefined) return open(path, init);
    return open(path, { ...init, body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  }

  /** Yields the events of one connection, until it ends. */
  async function* events(
    path: string,
    { signal, position, onState }: StreamOptions,
  ): AsyncGenerator<EventSourceMessage> {
    const leaving = new AbortController();
    const leave = (): void => leaving.abort();
    signal?.addEventListener("abort", leave, { once: true });
    let timer = setTimeout(leave, quietMs);
    try {
      const after = position?.() ?? 0;
      const headers = { accept: "text/event-stream", ...(after > 0 ? { "last-event-id": String(after) } : {}) };
      const response = await open(path, { headers, signal: leaving.signal });
      onState?.({ state: "connected", at: serverTime(response) });
      const parsed: EventSourceMessage[] = [];
      const parser = createParser({ onEvent: (event) => parsed.push(event) });
      for await (const text of textOf(response, leaving.signal)) {
        clearTimeout(timer);
        timer = setTimeout(leave, quietMs);
        parser.feed(text);
        yield* parsed.splice(0);
      }
    } catch (error) {
      throw error instanceof ClientError ? error : unreachable(url, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      leaving.abort();
    }
  }

  async function* stream(path: string, options: StreamOptions): AsyncGenerator<EventSourceMessage> {
    const { signal, onState } = options;
    let delay = firstMs;
    while (!signal?.aborted) {
      const startedAt = Date.now();
      let lost = new ClientError({ status: 0, code: "closed", detail: "The server closed the connection." });
      try {
        yield* events(path, options);
      } catch (error) {
        if (signal?.aborted) return;
        if (!(error instanceof ClientError) || !error.isTemporary) throw error;
        lost = error;
      }
      if (signal?.aborted) return;
      // After a short connection, the delay keeps growing: the server may close every connection immediately.
      if (Date.now() - startedAt > longestMs) delay = firstMs;
      onState?.({ state: "lost", error: lost, retryInMs: delay });
      await wait(delay, signal);
      delay = Math.min(2 * delay, longestMs);
    }
  }

  return {
    request,
    json: async <Value>(method: string, path: string, options?: RequestOptions) => {
      const response = await request(method, path, options);
      const value: unknown = await response.json().catch((error: unknown) => {
        throw unreachable(url, error);
      });
      return value as Value;
    },
    stream,
  };
}

function checkOptions(options: ClientOptions | undefined): void {
  const { url, token } = options ?? {};
  if (typeof url !== "string" || !/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : "")) {
    // The value is not shown, because it may contain a password.
    const given = url === undefined ? "the url option" : "a valid url option";
    throw new TypeError(`createClient needs ${given}. Use the server's address, such as http://127.0.0.1:7333.`);
  }
  if (typeof token !== "string" && typeof token !== "function")
    throw new TypeError("createClient needs the token option. Use a string, or a function that returns one.");
}

/**
 * Yields a response's text as it arrives, until it is complete or the signal fires. Cancels the reader itself, because
 * Node drops a request's signal when it garbage-collects the request. Does not use `for await`, because not every
 * browser can iterate over a stream.
 */
async function* textOf({ body }: Response, signal: AbortSignal): AsyncGenerator<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  const cancel = (): void => void reader?.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/** Returns the server's time. The Date header has whole seconds, rounded down. */
function serverTime({ headers }: Response): number {
  const time = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(time) ? Date.now() : time + 999;
}

/** Waits for the given time, or until the signal fires. */
function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
  });
}
