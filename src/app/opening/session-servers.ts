import { combineExecutors, createExecutor } from "../../executor/index.ts";
import { createMcpServers, isOwnServer, mergeConnections, startsProcess } from "../../mcp/index.ts";
import type { ConfiguredMcpServers, McpConnection, McpServers, WorkerSession } from "../../ports/index.ts";
import {
  type AgentId,
  type JsonObject,
  MAIN_AGENT,
  type McpServerUse,
  type PluginParts,
} from "../../protocol/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import type { LoadedMainAgent } from "../agents/load-agents.ts";
import { settingPath, settingPlace } from "../settings/setting-place.ts";
import { VERSION } from "../version.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";

/**
 * A session's MCP servers. A server starts when an agent first connects to it. The worker connects to the servers that
 * the workspace or its user configures, with the environment of the worker's machine. The session itself connects to
 * the servers that the program passes, unless they run as processes.
 */
export interface SessionServers {
  /** Connects the main agent to all configured servers and to those in its definition. */
  connectMain(own: readonly McpServerUse[], signal?: AbortSignal): Promise<McpConnection>;
  connect(uses: readonly McpServerUse[], client: ServerClient): Promise<McpConnection>;
  close(): Promise<void>;
}

/** An agent that uses MCP servers. */
export interface ServerClient {
  readonly owner: AgentId;
  readonly signal: AbortSignal;
  /**
   * Directory in which the servers start. Servers that start outside the workspace are not shared with other agents.
   */
  readonly root: string;
}

export interface ServerParts {
  readonly transcript: Pick<Transcript, "sessionId" | "results">;
  readonly worker: WorkerSession;
  readonly main: Pick<LoadedMainAgent, "project">;
}

export function createSessionServers(
  options: SessionOptions,
  context: SessionContext,
  { transcript, worker, main }: ServerParts,
): SessionServers {
  const { settings, environment, clock, cwd } = context;
  const { sessionId, results } = transcript;
  const configured = enabledServers(options, context, main.project.plugins);
  const callSeconds = settings.timeouts?.mcp;
  const fromHere: McpServers = createMcpServers({
    configured,
    environment,
    clock,
    limits: callSeconds === undefined ? {} : { callMs: callSeconds * 1_000 },
    tag: sessionId,
    version: VERSION,
    report: options.onTrouble,
  });

  const whereIs = (name: string): string | undefined =>
    Object.hasOwn(options.mcpServers ?? {}, name)
      ? undefined
      : (settingPlace(settingPath("mcpServers", name), options.settingsOrigins) ??
        main.project.plugins.serverPlaces?.[name]);

  async function connect(uses: readonly McpServerUse[], client: ServerClient): Promise<McpConnection> {
    if (uses.length === 0) return noConnection;
    const { owner, signal, root } = client;
    const names = uses.map(({ name }) => name);
    const { onWorker, here } = divide(uses, configured, options.mcpServers);
    const [offer, connection] = await Promise.all([
      onWorker.length > 0 ? worker.connectServers({ uses: onWorker, names, owner, root }, signal) : undefined,
      here.length > 0 ? fromHere.connect(here, { owner, names }, signal) : undefined,
    ]);
    const merged = mergeConnections(
      names,
      [offer, connection].filter((each) => each !== undefined),
    );
    const tools = connection?.tools ?? [];
    return {
      ...merged,
      addTo: (executor) => {
        const own = tools.length > 0 ? [createExecutor({ tools, results })] : [];
        const processes = offer?.tools.length ? [worker.serverExecutor(offer.connectionId)] : [];
        if (own.length + processes.length === 0) return executor;
        const added = new Set(merged.tools.map(({ declaration }) => declaration.name));
        const before = executor.declarations().filter(({ name }) => !added.has(name));
        const order = [...before.map(({ name }) => name), ...added];
        return combineExecutors({ executors: [executor, ...own, ...processes], order });
      },
      release: async () => {
        if (offer) await worker.releaseServers(offer.connectionId);
        await connection?.release();
      },
    };
  }

  return {
    connectMain: (own, signal = new AbortController().signal) => {
      const others = Object.keys(configured).filter((name) => own.every((use) => use.name !== name));
      const uses = [...others.map((name) => ({ name, where: whereIs(name) })), ...own];
      return connect(uses, { owner: MAIN_AGENT, signal, root: cwd });
    },
    connect,
    close: () => fromHere.close(),
  };
}

/**
 * Divides servers into those that the worker connects to, with their configurations, and those that the session
 * connects to. Unknown servers are in the second group, because the session reports them.
 */
function divide(
  uses: readonly McpServerUse[],
  configured: ConfiguredMcpServers,
  given: SessionOptions["mcpServers"] = {},
) {
  const configOf = ({ name, config }: McpServerUse) =>
    config ?? (Object.hasOwn(configured, name) ? configured[name] : undefined);
  // For a server that is listed twice, the first entry is used.
  const first = new Map(uses.toReversed().map((use) => [use.name, configOf(use)]));
  const isHere = ({ name }: McpServerUse): boolean => {
    const config = first.get(name);
    const isGiven = Object.hasOwn(given, name) && given[name] === config;
    return config === undefined || isOwnServer(config) || (isGiven && !startsProcess(config));
  };
  return {
    onWorker: uses
      .filter((use) => !isHere(use))
      .map((use) => ({ name: use.name, config: configOf(use) as JsonObject, where: use.where })),
    here: uses.filter(isHere),
  };
}

/** Returns the enabled servers from plugins, settings and options, keyed by name. */
function enabledServers(
  { mcpServers: given }: SessionOptions,
  { settings }: SessionContext,
  { mcpServers }: PluginParts,
): ConfiguredMcpServers {
  const all: ConfiguredMcpServers = { ...mcpServers, ...settings.mcpServers, ...given };
  const isEnabled = (config: object): boolean => !("disabled" in config) || config.disabled !== true;
  return Object.fromEntries(Object.entries(all).filter(([, config]) => isEnabled(config)));
}

const noConnection: McpConnection = {
  servers: [],
  tools: [],
  instructions: [],
  problems: [],
  addTo: (executor) => executor,
  release: async () => {},
};
