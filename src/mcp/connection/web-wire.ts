import {
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { describeError, formatBytes, ProxyError } from "../../lib/index.ts";
import type { McpWebServerConfig } from "../../ports/index.ts";
import type { Environment } from "../server-config.ts";
import { createProxiedFetch } from "./proxied-fetch.ts";
import { settleWithin, type Wire } from "./wire.ts";

/** Time allowed for a server to acknowledge the end of the session. */
const TERMINATE_MS = 1_000;

/** Connects to a server over HTTP. Throws if the address or a header is invalid. */
export function openWebWire(
  config: McpWebServerConfig,
  { maxMessageBytes, environment }: { readonly maxMessageBytes: number; readonly environment: Environment },
): Wire {
  const url = addressOf(config.url);
  let over: string | undefined;
  const onTooLarge = () => {
    over ??= `it sent a message larger than ${formatBytes(maxMessageBytes)} and was disconnected`;
    return new Error(over);
  };
  const send = createProxiedFetch(environment);
  const options = {
    requestInit: { headers: { ...config.headers } },
    fetch: async (address: string | URL, init?: RequestInit) =>
      limitBody(await send(address, init), { maxBytes: maxMessageBytes, onTooLarge }),
  };
  const session = config.type === "http" ? new StreamableHTTPClientTransport(url, options) : undefined;
  const transport: Transport = session ?? new SSEClientTransport(url, options);
  if (session !== undefined) failBrokenStreams(session);

  function explain(error: unknown): string {
    if (over !== undefined) return over;
    if (error instanceof SdkHttpError) {
      // The server no longer recognizes the session, so a new connection is needed.
      if (error.status === 404) over = "it responded with status 404 (not found, or the session has expired)";
      return over ?? describeStatus(error.status, error.data["text"]);
    }
    const reason = describeError(error);
    if (error instanceof TypeError || error instanceof ProxyError) over = `it could not be reached: ${reason}`;
    return over ?? reason;
  }

  return {
    transport,
    over: () => over,
    explain,
    lastErrorOutput: () => "",
    strayLines: () => 0,
    end: async () => {
      over ??= "it was closed";
      await terminate(session);
      await transport.close().catch(() => {});
    },
  };
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // The address is not shown, because it may contain secrets from variables.
    throw new Error('its "url" is not valid; it must begin with http:// or https://');
  }
  return url;
}

/** Fails a call whose response stream ends early. Otherwise the call would wait until it times out. */
function failBrokenStreams(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!("id" in message) || !("method" in message) || message.id === undefined) return send(message, options);
    const { id } = message;
    // This function is also called after a complete response, when the SDK ignores the error.
    const onRequestStreamEnd = () => {
      const error = { code: BROKEN_OFF, message: "the connection was closed before the response was complete" };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
}

const BROKEN_OFF = -32_000;

async function terminate(session: StreamableHTTPClientTransport | undefined): Promise<void> {
  if (session?.sessionId === undefined) return;
  await settleWithin(TERMINATE_MS, session.terminateSession());
}

function describeStatus(status: number, text: unknown): string {
  const detail = typeof text === "string" && text !== "" ? `: ${describeError(text).slice(0, 300)}` : "";
  if (status === 401 || status === 403) {
    return `it responded with status ${status}; check the "headers" in its configuration, because a token may be missing or expired`;
  }
  return `it responded with status ${status}${detail}`;
}

/**
 * Returns the response with a body that fails if a message is larger than `maxBytes`. A message is the whole body or,
 * in an event stream, the text between two empty lines.
 */
export function limitBody(
  response: Response,
  { maxBytes, onTooLarge }: { readonly maxBytes: number; readonly onTooLarge: () => Error },
): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const largest = isStream ? measureEvents() : measureAll();
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (largest(chunk) > maxBytes) controller.error(onTooLarge());
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}

/** Processes the next chunk and returns the size of the largest message that overlaps it. */
type Measure = (chunk: Uint8Array) => number;

function measureAll(): Measure {
  let size = 0;
  return (chunk) => {
    size += chunk.length;
    return size;
  };
}

function measureEvents(): Measure {
  let size = 0;
  let lineIsEmpty = true;
  return (chunk) => {
    let largest = 0;
    for (const byte of chunk) {
      if (byte === CARRIAGE_RETURN) continue;
      if (byte === NEWLINE) {
        if (lineIsEmpty) size = 0;
        lineIsEmpty = true;
        continue;
      }
      lineIsEmpty = false;
      size += 1;
      if (size > largest) largest = size;
    }
    return largest;
  };
}

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
