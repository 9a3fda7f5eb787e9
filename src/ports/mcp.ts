import type { AgentId, McpServerUse } from "../protocol/index.ts";
import type { ToolExecutor } from "./executor.ts";
import type { Tool, ToolSpec } from "./tool.ts";

/** Configuration of a server, as in `.mcp.json`. `${NAME}` and `${NAME:-default}` have not been replaced yet. */
export type McpServerConfig = StdioMcpServerConfig | McpWebServerConfig | OwnMcpServerConfig;

interface AnyMcpServerConfig {
  /** Time limit for a call in milliseconds. If absent, the limit for all servers applies. */
  readonly timeout?: number | undefined;
}

export interface StdioMcpServerConfig extends AnyMcpServerConfig {
  readonly type: "stdio";
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables to add to the workspace's scrubbed environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Working directory, relative to the workspace. If absent, the root of the workspace. */
  readonly cwd?: string | undefined;
}

export interface McpWebServerConfig extends AnyMcpServerConfig {
  /** `sse` is the older transport, used by servers from before 2025. */
  readonly type: "http" | "sse";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A server that runs in this process. */
export interface OwnMcpServerConfig extends AnyMcpServerConfig {
  readonly type: "own";
  readonly server: OwnMcpServer;
}

/** Any server object that connects to a transport, such as `McpServer` from the MCP SDK. */
export interface OwnMcpServer {
  connect(transport: never): Promise<unknown>;
}

/** A session's MCP servers. A server runs as long as at least one agent uses it. */
export interface McpServers {
  /**
   * Connects the servers of one agent. A server that is already running with the same name and configuration is shared.
   * Never rejects: a server that can't be used is reported in `problems`.
   */
  connect(uses: readonly McpServerUse[], client: McpClient, signal: AbortSignal): Promise<RunnableMcpConnection>;
  /** Stops all servers, including those in use. */
  close(): Promise<void>;
}

/** An agent that connects to servers. */
export interface McpClient {
  readonly owner: AgentId;
  /**
   * Names of all of the agent's servers, including those that run elsewhere, because tool names must differ between
   * them. Defaults to the servers that are connected.
   */
  readonly names?: readonly string[] | undefined;
}

/** Tools and instructions that MCP servers offer to an agent. */
export interface McpServerOffers {
  /** The requested servers, in the order of the request. */
  readonly servers: readonly ConnectedMcpServer[];
  /**
   * Tools named `mcp__server__tool`, ordered by server and then by name. The list stays the same as long as the
   * connection exists, so if a server has removed a tool, calls to that tool return an error.
   */
  readonly tools: readonly ToolSpec[];
  /** The servers' instructions for the system prompt, in the order of the servers. */
  readonly instructions: readonly { readonly server: string; readonly text: string }[];
  /** Problems so far, each with advice on what to do. */
  readonly problems: readonly string[];
}

/** Unchecked configurations of servers, keyed by name. */
export type ConfiguredMcpServers = Readonly<Record<string, object>>;

export interface McpConnection extends McpServerOffers {
  /** Returns an executor that also has the tools of these servers. */
  addTo(executor: ToolExecutor): ToolExecutor;
  /** Releases the servers. A server that no other agent uses is stopped with all its processes. */
  release(): Promise<void>;
}

/** A connection whose tools run in this process. */
export interface RunnableMcpConnection extends McpServerOffers, Pick<McpConnection, "release"> {
  readonly tools: readonly Tool[];
}

export interface ConnectedMcpServer {
  readonly name: string;
  /** If `failed`, the reason is in `problems`. */
  readonly status: "connected" | "failed";
}
