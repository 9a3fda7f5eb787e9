import type { Agent } from "node:http";
import { descriptorLimit } from "../lib/index.ts";
import type { Connector } from "./connector.ts";
import { type Environment, proxyFor } from "./proxy.ts";
import { targetOf } from "./target.ts";

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
  const agents: Agent[] = [];
  const sockets = maxSockets ?? socketsByDescriptorLimit();
  return {
    prepare(url) {
      let connector = connectors.get(url.origin);
      if (connector === undefined) {
        connector = connect(url, { environment, sockets, agents, trusted });
        connectors.set(url.origin, connector);
      }
      return connector;
    },
    close() {
      for (const agent of agents) agent.destroy();
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
  readonly sockets: number;
  readonly agents: Agent[];
  readonly trusted: string | undefined;
}

async function connect(url: URL, { environment, sockets, agents, trusted }: ConnectOptions): Promise<Connector> {
  const agentOptions = {
    keepAlive: true,
    noDelay: true,
    maxSockets: sockets,
    maxFreeSockets: sockets,
    ...(trusted ? { ca: trusted } : {}),
  };
  const proxy = proxyFor(url, environment);
  if (proxy !== undefined) {
    const { throughProxy } = await import("./through-proxy.ts");
    const made = throughProxy({ url, proxy, agentOptions });
    agents.push(made.agent);
    return { open: made.open, reached: false };
  }
  // Taken here and not imported: loading it is a good part of the time to the first request.
  const transport = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  const agent = new transport.Agent(agentOptions);
  agents.push(agent);
  return { open: (target, options) => transport.request({ ...targetOf(target), ...options, agent }), reached: false };
}

/** Half of what is left after the files the program itself needs: journals and tools want some too. */
function socketsByDescriptorLimit(): number {
  return Math.max(8, Math.floor((descriptorLimit() - 64) / 2));
}
