import { createId, formatDuration, nearest, plural } from "../lib/index.ts";
import type {
  Clock,
  ConfiguredMcpServers,
  McpClient,
  McpServerConfig,
  McpServerOffers,
  McpServers,
  RunnableMcpConnection,
  Tool,
  Workspace,
} from "../ports/index.ts";
import type { McpServerUse } from "../protocol/index.ts";
import { openLink } from "./connection/open-link.ts";
import { asSentence, createServer, type Offer, type Server } from "./server.ts";
import { type Environment, readServerConfig } from "./server-config.ts";
import { createMcpTool } from "./tools/mcp-tool.ts";
import { nameServers, nameTools } from "./tools/tool-names.ts";

export interface McpLimits {
  /** Time limit for starting a server and listing its tools. */
  readonly startMs?: number;
  /** Time after which a slow start is reported. */
  readonly slowMs?: number;
  /** Time limit for one call, unless the server's configuration sets a `timeout`. */
  readonly callMs?: number;
  /** Maximum size of a message. A server that sends a larger message is stopped. */
  readonly maxMessageBytes?: number;
}

export interface McpServersOptions {
  /** Workspace in which servers run as processes. */
  readonly workspace?: Workspace | undefined;
  /** Configurations by name, as under `mcpServers` in `.mcp.json`. */
  readonly configured: ConfiguredMcpServers;
  /** Environment variables that replace `${NAME}` in configurations. */
  readonly environment: Environment;
  readonly clock: Clock;
  readonly limits?: McpLimits;
  /** Tag of all server processes, so that a resumed session can end processes that were left behind. */
  readonly tag?: string;
  /** Version of Retinue, sent to servers. */
  readonly version?: string;
  /** Called with a message that explains why an agent has not started yet. */
  readonly report?: ((message: string) => void) | undefined;
}

interface SharedServer {
  readonly server: Server;
  readonly users: Set<object>;
}

const defaultLimits: Required<McpLimits> = {
  startMs: 30_000,
  slowMs: 3_000,
  callMs: 60_000,
  maxMessageBytes: 64 * 1024 * 1024,
};

/** Creates a session's servers. A server is started, and the SDK loaded, only when an agent uses the server. */
export function createMcpServers(options: McpServersOptions): McpServers {
  const limits = { ...defaultLimits, ...options.limits };
  const running = new Map<string, SharedServer>();
  const endings = new Set<Promise<void>>();
  let closed = false;

  function serverFor(name: string, config: McpServerConfig): Server {
    const { workspace, clock, environment, version = "0" } = options;
    const linkOptions = { workspace, clock, environment, version, ...limits };
    // Each start has its own tag, so that ending leftover processes of one start does not end those of the next.
    const newTag = () => [...(options.tag === undefined ? [] : [options.tag]), createId("mcp-")];
    return createServer({
      name,
      config,
      ...limits,
      open: (onToolsChanged, signal) => openLink(config, { ...linkOptions, tag: newTag(), onToolsChanged }, signal),
    });
  }

  function acquire(name: string, { config, user }: { config: McpServerConfig; user: object }): string {
    // There is one server object per name.
    const key = JSON.stringify([name, config.type === "own" ? config.type : sorted(config)]);
    const shared = running.get(key) ?? { server: serverFor(name, config), users: new Set() };
    running.set(key, shared);
    shared.users.add(user);
    return key;
  }

  async function release(key: string, user: object): Promise<void> {
    const shared = running.get(key);
    if (!shared?.users.delete(user) || shared.users.size > 0) return;
    running.delete(key);
    await end(shared.server);
  }

  async function end(server: Server): Promise<void> {
    const ending = server.end();
    endings.add(ending);
    await ending;
    endings.delete(ending);
  }

  function reportSlowStart(name: string): void {
    options.report?.(`Waiting up to ${formatDuration(limits.startMs)} for the MCP server "${name}" to start.`);
  }

  async function connect(
    uses: readonly McpServerUse[],
    client: McpClient,
    signal: AbortSignal,
  ): Promise<RunnableMcpConnection> {
    const user = { ...client };
    const all = client.names ?? uses.map(({ name }) => name);
    const problems: string[] = [];
    const wanted = new Map<string, string>();
    for (const use of uses) {
      const found = closed ? "the session is ending" : configOf(use, options);
      if (typeof found === "string") problems.push(located(use, `can't be used: ${found}.`));
      else if (wanted.has(use.name)) problems.push(located(use, "is listed twice. The first entry is used."));
      else wanted.set(use.name, acquire(use.name, { config: found, user }));
    }
    const offers = await Promise.all(
      [...wanted].map(async ([name, key]): Promise<Connected | undefined> => {
        const server = running.get(key)?.server;
        const waiting = setTimeout(() => reportSlowStart(name), limits.slowMs);
        const offer: Offer = server ? await server.offer(signal) : { ok: false, reason: "the session is ending" };
        clearTimeout(waiting);
        if (server && offer.ok) return { name, server, offer };
        const { where } = uses.find((use) => use.name === name) ?? {};
        problems.push(located({ name, where }, `could not be started: ${asSentence(offer.ok ? "" : offer.reason)}`));
        await release(key, user);
        return undefined;
      }),
    );
    const connected = offers.filter((each) => each !== undefined);
    const isConnected = (name: string): boolean => connected.some((each) => each.name === name);
    const names = [...new Set(uses.map(({ name }) => name))];
    return {
      ...declare(connected, nameServers(all)),
      servers: names.map((name) => ({ name, status: isConnected(name) ? "connected" : "failed" })),
      get problems() {
        return [...problems, ...connected.flatMap(({ server }) => strayProblem(server))];
      },
      release: async () => {
        await Promise.all([...wanted.values()].map((key) => release(key, user)));
      },
    };
  }

  return {
    connect,
    async close() {
      closed = true;
      const servers = [...running.values()].map(({ server }) => server);
      running.clear();
      await Promise.all([...servers.map(end), ...endings]);
    },
  };
}

interface Connected {
  readonly name: string;
  readonly server: Server;
  readonly offer: Extract<Offer, { ok: true }>;
}

function located({ name, where }: McpServerUse, what: string): string {
  return `${where === undefined ? "" : `${where}: `}The MCP server "${name}" ${what}`;
}

/** Returns the configuration, or a message if the server is unknown or misconfigured. */
function configOf(use: McpServerUse, { configured, environment }: McpServersOptions): McpServerConfig | string {
  const written = use.config ?? (Object.hasOwn(configured, use.name) ? configured[use.name] : undefined);
  if (written === undefined) return unknownServer(use.name, Object.keys(configured));
  return readServerConfig(written, environment);
}

function unknownServer(name: string, known: readonly string[]): string {
  const near = nearest(name, known, 1);
  if (near.length > 0) return `there is no server with that name (did you mean "${near[0]}"?)`;
  if (known.length === 0) return "no servers are configured. Add the server under `mcpServers`";
  return `there is no server with that name. The configured servers are ${known.join(", ")}`;
}

function declare(
  connected: readonly Connected[],
  serverNames: ReadonlyMap<string, string>,
): Pick<RunnableMcpConnection, "tools" | "instructions"> {
  const tools = connected.flatMap(({ name, server, offer }) => {
    const offered = new Map(offer.tools.map((tool) => [tool.name, tool]));
    const names = nameTools(serverNames.get(name) ?? name, [...offered.keys()]);
    return [...offered.values()]
      .map((tool): Tool => createMcpTool(tool, { name: names.get(tool.name) ?? tool.name, server }))
      .sort((left, right) => (left.declaration.name < right.declaration.name ? -1 : 1));
  });
  const instructions = connected
    .map(({ name, offer }) => ({ server: name, text: offer.instructions }))
    .filter(({ text }) => text !== "");
  return { tools, instructions };
}

/**
 * Combines one agent's connections to servers that run in different places. `names` lists the servers in the order in
 * which their tools are declared.
 */
export function mergeConnections(names: readonly string[], connections: readonly McpServerOffers[]): McpServerOffers {
  const tools = connections.flatMap((each) => each.tools);
  const servers = connections.flatMap((each) => each.servers);
  const instructions = connections.flatMap((each) => each.instructions);
  const unique = [...new Set(names)];
  const prefixes = [...nameServers(names).values()].map((name) => `mcp__${name}__`);
  return {
    tools: prefixes.flatMap((prefix) => tools.filter(({ declaration }) => declaration.name.startsWith(prefix))),
    servers: unique.flatMap((name) => servers.find((each) => each.name === name) ?? []),
    instructions: unique.flatMap((name) => instructions.filter(({ server }) => server === name)),
    problems: connections.flatMap((each) => each.problems),
  };
}

function strayProblem(server: Server): readonly string[] {
  const count = server.strayLines();
  if (count === 0) return [];
  const lines = plural(count, "line");
  return [
    `The MCP server "${server.name}" wrote text other than MCP messages to standard output (${lines}), which was ignored. Such text belongs on standard error.`,
  ];
}

/** Sorts all keys, so that configurations whose keys differ only in order share a server. */
function sorted(config: McpServerConfig): unknown {
  return JSON.parse(
    JSON.stringify(config, (_, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
        : value,
    ),
  );
}
