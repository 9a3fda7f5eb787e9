import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { connect as connectSecurely } from "node:tls";
import { type HttpProxy, openTunnel, ProxyError, proxyFor, serverNameOf } from "../../lib/index.ts";
import type { Environment } from "../server-config.ts";

type Fetch = (address: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` function that uses the proxy specified by environment variables, if any. Node's own `fetch` ignores
 * these variables.
 */
export function createProxiedFetch(environment: Environment): Fetch {
  return async (address, init) => {
    const url = new URL(address);
    const proxy = proxyFor(url, environment);
    if (proxy === undefined) return fetch(address, init);
    if (proxy instanceof ProxyError) throw proxy;
    return responseOf(await send(url, proxy, init));
  };
}

async function send(url: URL, proxy: HttpProxy, init: RequestInit = {}): Promise<IncomingMessage> {
  const isSecure = url.protocol === "https:";
  const socket = await openTunnel(`${url.hostname}:${url.port || (isSecure ? 443 : 80)}`, proxy);
  const connection = isSecure ? connectSecurely({ socket, servername: serverNameOf(url) }) : socket;
  return new Promise((fulfil, reject) => {
    const outgoing = (isSecure ? httpsRequest : httpRequest)(url, {
      method: init.method ?? "GET",
      headers: { host: url.host, ...Object.fromEntries(new Headers(init.headers)) },
      createConnection: () => connection,
      signal: init.signal ?? undefined,
    });
    outgoing.on("response", fulfil);
    outgoing.on("error", reject);
    outgoing.end(init.body ?? undefined);
  });
}

function responseOf(incoming: IncomingMessage): Response {
  const { statusCode: status = 500, statusMessage: statusText = "" } = incoming;
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  const isEmpty = status === 204 || status === 205 || status === 304;
  if (isEmpty) incoming.resume();
  const body = isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  return new Response(body, { status, statusText, headers });
}
