import { Agent, type AgentOptions, type RequestOptions } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type HttpProxy, openTunnel, serverNameOf } from "../../lib/index.ts";

interface SecureAgentOptions extends AgentOptions {
  /** URL of the server at the other end of the encrypted connections. */
  readonly server: URL;
  /** Proxy through which the connections are opened, if any. */
  readonly proxy: HttpProxy | undefined;
}

/**
 * Creates an agent for TLS connections. Like every `node:https` agent, it resumes the TLS sessions of earlier
 * connections.
 */
export function createSecureAgent({ server, proxy, ...options }: SecureAgentOptions): Agent {
  const all = { ...options, servername: serverNameOf(server) };
  return proxy === undefined ? new Agent(all) : new TunnelAgent(all, { server, proxy });
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
    const { server, proxy } = this.tunnel;
    openTunnel(`${server.hostname}:${server.port || 443}`, proxy, this.options.ca)
      .then(connect)
      .then((stream) => callback(null, stream), callback as (error: Error) => void);
    return null;
  }
}
