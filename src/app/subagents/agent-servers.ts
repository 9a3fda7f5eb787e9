import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock, McpConnection, McpServers } from "../../ports/index.ts";
import { type AgentId, type JsonObject, MAIN_AGENT, type McpServerUse, type SessionId } from "../../protocol/index.ts";
import type { Environment } from "../places.ts";
import { VERSION } from "../version.ts";

export interface ServersPlace {
  /** The workspace. */
  readonly root: string;
  readonly configured: Readonly<Record<string, JsonObject>>;
  /** Where plugins are kept; absent: those of the user don't count here. */
  readonly pluginHome?: string;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly sessionId: SessionId;
  /** Of a call, where its server's configuration does not say. */
  readonly callSeconds?: number | undefined;
  /** A person should know it while they start. */
  readonly tell?: ((message: string) => void) | undefined;
}

/** The MCP servers of a session. Where nobody uses one, nothing is loaded and nothing started. */
export interface AgentServers {
  /** For the session's own agent: everything that is configured, and what its definition brings. */
  connectMain(own: readonly McpServerUse[], signal?: AbortSignal): Promise<McpConnection>;
  connect(uses: readonly McpServerUse[], use: ConnectionUse): Promise<McpConnection>;
  close(): Promise<void>;
}

export interface ConnectionUse {
  readonly owner: AgentId;
  readonly signal: AbortSignal;
  /** Where they start; in another place than the workspace they are nobody else's. */
  readonly root: string;
}

export function createAgentServers(place: ServersPlace): AgentServers {
  let configured: Promise<Readonly<Record<string, JsonObject>>> | undefined;
  let servers: Promise<McpServers> | undefined;
  const configuredNow = () => {
    configured ??= configuredServers(place);
    return configured;
  };
  const serversNow = () => {
    servers ??= configuredNow().then((found) => makeServers(place, found));
    return servers;
  };
  const connect: AgentServers["connect"] = async (uses, { owner, signal, root }) => {
    if (uses.length === 0) return nothing;
    if (root === place.root) return (await serversNow()).connect(uses, owner, signal);
    const own = await makeServers({ ...place, root }, await configuredNow());
    const connection = await own.connect(uses, owner, signal);
    return { ...connection, release: () => own.close() };
  };
  return {
    connectMain: async (own, signal = new AbortController().signal) => {
      const named = Object.keys(await configuredNow()).filter((name) => own.every((use) => use.name !== name));
      const use = { owner: MAIN_AGENT, signal, root: place.root };
      return connect([...named.map((name) => ({ name })), ...own], use);
    },
    connect,
    close: async () => (await servers)?.close(),
  };
}

async function configuredServers({ configured, pluginHome }: ServersPlace): Promise<ServersPlace["configured"]> {
  const fromPlugins = pluginHome === undefined ? {} : await pluginServers(pluginHome);
  const all = Object.entries({ ...fromPlugins, ...configured });
  return Object.fromEntries(all.filter(([, { disabled }]) => disabled !== true));
}

async function pluginServers(home: string): Promise<ServersPlace["configured"]> {
  if (!existsSync(join(home, "plugins.json"))) return {};
  const { readPluginServers } = await import("./plugin-servers.ts");
  return readPluginServers(home);
}

async function makeServers(
  { root, environment, clock, sessionId, callSeconds, tell }: ServersPlace,
  configured: ServersPlace["configured"],
): Promise<McpServers> {
  const [{ createMcpServers }, { createLocalWorkspace }] = await Promise.all([
    import("../../mcp/index.ts"),
    import("../../workspace/index.ts"),
  ]);
  const workspace = createLocalWorkspace({ root, environment });
  const limits = callSeconds === undefined ? {} : { callMs: callSeconds * 1_000 };
  const words = { tag: sessionId, version: VERSION, tell };
  return createMcpServers({ workspace, configured, environment, clock, limits, ...words });
}

const nothing: McpConnection = { servers: [], tools: [], instructions: [], problems: [], release: async () => {} };
