import {
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { describeError, formatBytes } from "../lib/index.ts";
import type { McpWebServerConfig } from "../ports/index.ts";
import { limitBody } from "./limit-body.ts";
import { settleWithin } from "./settle-within.ts";
import type { Wire } from "./wire.ts";

/** How long a server may take to take note of the end. */
const GOODBYE_MS = 1_000;

/** A server somewhere else, by HTTP. Throws if the address or a header can't be used. */
export function openWebWire(
  config: McpWebServerConfig,
  { maxMessageBytes }: { readonly maxMessageBytes: number },
): Wire {
  const url = addressOf(config.url);
  let over: string | undefined;
  const onTooLarge = () => {
    over ??= `it sent a message of more than ${formatBytes(maxMessageBytes)} and was cut off`;
    return new Error(over);
  };
  const options = {
    requestInit: { headers: { ...config.headers } },
    fetch: async (address: string | URL, init?: RequestInit) =>
      limitBody(await fetch(address, init), { maxBytes: maxMessageBytes, onTooLarge }),
  };
  const session = config.type === "http" ? new StreamableHTTPClientTransport(url, options) : undefined;
  const transport: Transport = session ?? new SSEClientTransport(url, options);
  if (session !== undefined) answerBrokenStreams(session);

  function explain(error: unknown): string {
    if (over !== undefined) return over;
    if (error instanceof SdkHttpError) {
      // An unknown session: the server has forgotten us, and only a new start can help.
      if (error.status === 404) over = "it answered 404 (not found, or it has forgotten the session)";
      return over ?? describeStatus(error.status, error.data["text"]);
    }
    const reason = describeError(error);
    if (error instanceof TypeError) over = `it can't be reached: ${reason}`;
    return over ?? reason;
  }

  return {
    transport,
    over: () => over,
    explain,
    lastWords: () => "",
    strayLines: () => 0,
    end: async () => {
      over ??= "it was let go";
      await goodbye(session);
      await transport.close().catch(() => {});
    },
  };
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // What variables put into it may be secret, so it is not repeated.
    throw new Error('its "url" is not a web address: it must begin with http:// or https://');
  }
  return url;
}

/** Without this a call whose answer breaks off would wait for its time limit. */
function answerBrokenStreams(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!("id" in message) || !("method" in message) || message.id === undefined) return send(message, options);
    const { id } = message;
    // Comes after every answer too; then nobody waits for it any more.
    const onRequestStreamEnd = () => {
      const error = { code: BROKEN_OFF, message: "the connection ended before the answer was complete" };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
}

const BROKEN_OFF = -32_000;

async function goodbye(session: StreamableHTTPClientTransport | undefined): Promise<void> {
  if (session?.sessionId === undefined) return;
  await settleWithin(GOODBYE_MS, session.terminateSession());
}

function describeStatus(status: number, text: unknown): string {
  const said = typeof text === "string" && text !== "" ? `: ${describeError(text).slice(0, 300)}` : "";
  if (status === 401 || status === 403) {
    return `it answered ${status}: check the "headers" of its configuration, a token may be missing or out of date`;
  }
  return `it answered ${status}${said}`;
}
