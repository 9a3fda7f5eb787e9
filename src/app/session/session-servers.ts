import { createMcpServers } from "../../mcp/index.ts";
import type { McpConnection, McpServers } from "../../ports/index.ts";
import { type AgentId, type JsonObject, MAIN_AGENT, type McpServerUse } from "../../protocol/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { VERSION } from "../version.ts";
import { readPluginServers } from "./plugin-parts.ts";
import { pluginHome, type SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";

/** The MCP servers of a session. A server starts when an agent first connects to it. */
export interface SessionServers {
  /** Connects the main agent to all configured servers and to those in its definition. */
  connectMain(own: readonly McpServerUse[], signal?: AbortSignal): Promise<McpConnection>;
  connect(uses: readonly McpServerUse[], client: ServerClient): Promise<McpConnection>;
  close(): Promise<void>;
}

/** An agent that connects to servers. */
export interface ServerClient {
  readonly owner: AgentId;
  readonly signal: AbortSignal;
  /**
   * Directory in which the servers start. Servers that start outside the workspace are not shared with other agents.
   */
  readonly root: string;
}

export function createSessionServers(
  options: SessionOptions,
  context: SessionContext,
  { sessionId }: Pick<Transcript, "sessionId">,
): SessionServers {
  const { settings, environment, clock, cwd } = context;
  const configured = enabledServers(options, context);
  const callSeconds = settings.timeouts?.mcp;
  const createServersAt = (root: string): McpServers =>
    createMcpServers({
      workspace: createLocalWorkspace({ root, environment }),
      configured,
      environment,
      clock,
      limits: callSeconds === undefined ? {} : { callMs: callSeconds * 1_000 },
      tag: sessionId,
      version: VERSION,
      report: options.onTrouble,
    });
  const shared = createServersAt(cwd);
  const connect: SessionServers["connect"] = async (uses, { owner, signal, root }) => {
    if (uses.length === 0) return noConnection;
    if (root === cwd) return shared.connect(uses, owner, signal);
    const own = createServersAt(root);
    const connection = await own.connect(uses, owner, signal);
    return { ...connection, release: () => own.close() };
  };
  return {
    connectMain: (own, signal = new AbortController().signal) => {
      const others = Object.keys(configured).filter((name) => own.every((use) => use.name !== name));
      const uses = [...others.map((name) => ({ name })), ...own];
      return connect(uses, { owner: MAIN_AGENT, signal, root: cwd });
    },
    connect,
    close: () => shared.close(),
  };
}

/** Returns the servers from plugins and settings, by name. */
function enabledServers(options: SessionOptions, context: SessionContext): Readonly<Record<string, JsonObject>> {
  const home = pluginHome(options, context);
  const fromPlugins = home === undefined ? {} : readPluginServers(home);
  const all = Object.entries({ ...fromPlugins, ...context.settings.mcpServers });
  return Object.fromEntries(all.filter(([, { disabled }]) => disabled !== true));
}

const noConnection: McpConnection = { servers: [], tools: [], instructions: [], problems: [], release: async () => {} };
