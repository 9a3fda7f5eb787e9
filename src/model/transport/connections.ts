import { descriptorLimit, ProxyError, proxyFor } from "../../lib/index.ts";
import type { Environment } from "../providers/providers.ts";
import type { Connector } from "./connector.ts";

/** Kept-alive connections to providers, shared by all users of the same object. */
export interface Connections {
  /** Returns the connector for the origin of a URL. */
  to(url: URL): Promise<Connector>;
  /** Ends all connections. */
  close(): void;
}

interface ConnectionsOptions {
  readonly environment?: Environment | undefined;
  /** Maximum number of connections to one origin. By default, as many as the limit on open files allows. */
  readonly maxConnections?: number | undefined;
  /** Certificates of authorities to trust instead of the usual ones (PEM). */
  readonly trusted?: string | undefined;
}

export function createConnections(options: ConnectionsOptions = {}): Connections {
  const { environment = process.env, trusted } = options;
  const maxConnections = options.maxConnections ?? connectionsByDescriptorLimit();
  const connectors = new Map<string, Promise<Connector>>();

  async function connect(url: URL): Promise<Connector> {
    const proxy = proxyFor(url, environment);
    if (proxy instanceof ProxyError) return failingConnector(proxy);
    const { createConnector } = await import("./connector.ts");
    return createConnector(url, { proxy, maxConnections, trusted });
  }

  return {
    to(url) {
      let connector = connectors.get(url.origin);
      if (connector === undefined) {
        connector = connect(url);
        connectors.set(url.origin, connector);
      }
      return connector;
    },
    close() {
      for (const connector of connectors.values()) void connector.then(({ close }) => close());
    },
  };
}

let shared: Connections | undefined;
export function sharedConnections(): Connections {
  shared ??= createConnections();
  return shared;
}

/**
 * Returns half the number of file descriptors that the program itself does not need, because journals and tools need
 * some as well.
 */
function connectionsByDescriptorLimit(): number {
  return Math.max(8, Math.floor((descriptorLimit() - 64) / 2));
}

function failingConnector(error: ProxyError): Connector {
  return {
    send(_, listener) {
      listener.failed(error);
      return { drop() {}, letGo() {} };
    },
    reached: false,
    close() {},
  };
}
