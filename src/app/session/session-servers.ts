import { createMcpServers } from "../../mcp/index.ts";
import type { Clock, McpConnection, McpServers } from "../../ports/index.ts";
import { type AgentId, type JsonObject, MAIN_AGENT, type McpServerUse, type SessionId } from "../../protocol/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import type { Environment } from "../directories.ts";
import { VERSION } from "../version.ts";
import { readPluginServers } from "./plugin-parts.ts";

export interface SessionServersOptions {
  /** Real path of the workspace. */
  readonly cwd: string;
  /** Servers of the settings, by name. */
  readonly configured: ServerConfigs;
  /** State directory with the user's plugins; absent: they are not used. */
  readonly pluginHome?: string | undefined;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly sessionId: SessionId;
  /** Time limit of a call in seconds, for servers whose configuration has none. */
  readonly callSeconds?: number | undefined;
  /** Receives messages for the user while servers start. */
  readonly notify?: ((message: string) => void) | undefined;
}

type ServerConfigs = Readonly<Record<string, JsonObject>>;

/** The MCP servers of a session. A server starts when an agent first connects to it. */
export interface SessionServers {
  /** Connects the main agent to all configured servers and to those of its definition. */
  connectMain(own: readonly McpServerUse[], signal?: AbortSignal): Promise<McpConnection>;
  connect(uses: readonly McpServerUse[], client: ServerClient): Promise<McpConnection>;
  close(): Promise<void>;
}

/** The agent that connects to servers. */
export interface ServerClient {
  readonly owner: AgentId;
  readonly signal: AbortSignal;
  /** Directory in which the servers start. Servers outside of the workspace are not shared with other agents. */
  readonly root: string;
}

export function createSessionServers(options: SessionServersOptions): SessionServers {
  const configured = enabledServers(options);
  const shared = createServersAt(options.cwd, configured, options);
  const connect: SessionServers["connect"] = async (uses, { owner, signal, root }) => {
    if (uses.length === 0) return noConnection;
    if (root === options.cwd) return shared.connect(uses, owner, signal);
    const own = createServersAt(root, configured, options);
    const connection = await own.connect(uses, owner, signal);
    return { ...connection, release: () => own.close() };
  };
  return {
    connectMain: (own, signal = new AbortController().signal) => {
      const others = Object.keys(configured).filter((name) => own.every((use) => use.name !== name));
      const uses = [...others.map((name) => ({ name })), ...own];
      return connect(uses, { owner: MAIN_AGENT, signal, root: options.cwd });
    },
    connect,
    close: () => shared.close(),
  };
}

function enabledServers({ configured, pluginHome }: SessionServersOptions): ServerConfigs {
  const fromPlugins = pluginHome === undefined ? {} : readPluginServers(pluginHome);
  const all = Object.entries({ ...fromPlugins, ...configured });
  return Object.fromEntries(all.filter(([, { disabled }]) => disabled !== true));
}

function createServersAt(root: string, configured: ServerConfigs, options: SessionServersOptions): McpServers {
  const { environment, clock, sessionId, callSeconds, notify } = options;
  return createMcpServers({
    workspace: createLocalWorkspace({ root, environment }),
    configured,
    environment,
    clock,
    limits: callSeconds === undefined ? {} : { callMs: callSeconds * 1_000 },
    tag: sessionId,
    version: VERSION,
    tell: notify,
  });
}

const noConnection: McpConnection = { servers: [], tools: [], instructions: [], problems: [], release: async () => {} };
