import { descriptorLimit } from "../../lib/index.ts";
import { type Dial, dialDirectly } from "../http/dial.ts";
import { createPool, type Pool } from "../http/pool.ts";
import { type HeadOptions, requestHead } from "../http/request-head.ts";
import type { Connector } from "./connector.ts";
import { type Environment, proxyFor } from "./proxy.ts";

/** Kept-alive connections to providers, shared by everything that is given the same object. */
export interface Connections {
  /** Loads what a request to this address needs, so that the first one does not wait for it. */
  prepare(url: URL): Promise<Connector>;
  /** Ends idle connections; running requests end by themselves. */
  close(): void;
}

interface ConnectionsOptions {
  readonly environment?: Environment;
  /** Open sockets to one address; the default follows the limit of open files. */
  readonly maxSockets?: number;
  /** Certificates of authorities to trust instead of the usual ones (PEM). */
  readonly trusted?: string;
}

export function createConnections(options: ConnectionsOptions = {}): Connections {
  const { environment = process.env, maxSockets, trusted } = options;
  const connectors = new Map<string, Promise<Connector>>();
  const pools: Pool[] = [];
  const most = maxSockets ?? socketsByDescriptorLimit();
  return {
    prepare(url) {
      let connector = connectors.get(url.origin);
      if (connector === undefined) {
        connector = connect(url, { environment, most, pools, trusted });
        connectors.set(url.origin, connector);
      }
      return connector;
    },
    close() {
      for (const pool of pools) pool.close();
    },
  };
}

let shared: Connections | undefined;
export function sharedConnections(): Connections {
  shared ??= createConnections();
  return shared;
}

interface ConnectOptions {
  readonly environment: Environment;
  readonly most: number;
  readonly pools: Pool[];
  readonly trusted: string | undefined;
}

async function connect(url: URL, { environment, most, pools, trusted }: ConnectOptions): Promise<Connector> {
  const { dial, head } = await wayTo(url, { environment, trusted });
  const pool = createPool({ dial, most });
  pools.push(pool);
  return {
    send: (request, listener) => pool.send({ head: requestHead(request, head), body: request.body }, listener),
    reached: false,
  };
}

async function wayTo(
  url: URL,
  { environment, trusted }: Pick<ConnectOptions, "environment" | "trusted">,
): Promise<{ readonly dial: Dial; readonly head: HeadOptions }> {
  const proxy = proxyFor(url, environment);
  if (proxy === undefined) return { dial: dialDirectly(url, { trusted }), head: {} };
  const { throughProxy } = await import("../http/through-proxy.ts");
  return throughProxy({ url, proxy, trusted });
}

/** Half of what is left after the files the program itself needs: journals and tools want some too. */
function socketsByDescriptorLimit(): number {
  return Math.max(8, Math.floor((descriptorLimit() - 64) / 2));
}
