import { request as requestOverHttp } from "node:http";
import { Agent, type AgentOptions, type RequestOptions, request as requestOverHttps } from "node:https";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { urlToHttpOptions } from "node:url";
import { bareHost } from "../../lib/index.ts";
import { type HttpProxy, unreachable } from "./proxy.ts";

interface SecureAgentOptions extends AgentOptions {
  /** URL of the server at the other end of the encrypted connections. */
  readonly server: URL;
  /** Proxy through which the connections are opened, if any. */
  readonly proxy: HttpProxy | undefined;
}

/**
 * Creates an agent for TLS connections. Like every agent of `node:https`, it resumes the TLS sessions of earlier
 * connections.
 */
export function createSecureAgent({ server, proxy, ...options }: SecureAgentOptions): Agent {
  const all = { ...options, servername: nameOf(server) };
  return proxy === undefined ? new Agent(all) : new TunnelAgent(all, { server, proxy });
}

/**
 * Returns the server name for TLS, which is never an IP address. By default, Node takes it from the header `host`,
 * which can name another server.
 */
function nameOf(server: URL): string {
  const host = bareHost(server.hostname);
  return isIP(host) ? "" : host;
}

interface Tunnel {
  readonly server: URL;
  readonly proxy: HttpProxy;
}

/** Opens each connection through a tunnel that it requests from the proxy with CONNECT. */
class TunnelAgent extends Agent {
  private readonly tunnel: Tunnel;

  constructor(options: AgentOptions, tunnel: Tunnel) {
    super(options);
    this.tunnel = tunnel;
  }

  override createConnection(options: RequestOptions, callback: (error: Error | null, stream: Duplex) => void): null {
    const connect = (socket: Socket) => {
      const through: RequestOptions & { readonly socket: Socket } = { ...options, socket };
      return super.createConnection(through) as Duplex;
    };
    openTunnel(this.tunnel, this.options.ca)
      .then(connect)
      .then((stream) => callback(null, stream), callback as (error: Error) => void);
    return null;
  }
}

const longestWaitMs = 30_000;

function openTunnel({ server, proxy }: Tunnel, ca: AgentOptions["ca"]): Promise<Socket> {
  const authority = `${server.hostname}:${server.port || 443}`;
  const headers: Record<string, string> = { host: authority };
  if (proxy.authorization !== undefined) headers["proxy-authorization"] = proxy.authorization;
  const send = proxy.url.protocol === "https:" ? requestOverHttps : requestOverHttp;
  const address = { ...urlToHttpOptions(proxy.url), auth: null, servername: nameOf(proxy.url), ca };
  return new Promise((resolve, reject) => {
    const request = send({ ...address, method: "CONNECT", path: authority, headers, agent: false });
    request.setTimeout(longestWaitMs, () => request.destroy(proxy.error("did not respond in time")));
    request.on("error", (error) => reject(unreachable(proxy, error)));
    request.on("connect", ({ statusCode = 0 }, socket) => {
      socket.setTimeout(0);
      if (statusCode >= 200 && statusCode < 300) return resolve(socket);
      socket.destroy();
      reject(proxy.error(`responded with status ${statusCode}`));
    });
    request.end();
  });
}
