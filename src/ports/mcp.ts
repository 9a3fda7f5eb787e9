import type { AgentId, McpServerUse } from "../protocol/index.ts";
import type { Tool } from "./tool.ts";

/** Configuration as in `.mcp.json`; `${NAME}` and `${NAME:-default}` are not yet replaced. */
export type McpServerConfig = StdioMcpServerConfig | McpWebServerConfig;

interface AnyMcpServerConfig {
  /** Time limit of a call in milliseconds; absent: the limit for all servers. */
  readonly timeout?: number | undefined;
}

export interface StdioMcpServerConfig extends AnyMcpServerConfig {
  readonly type: "stdio";
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables added to the scrubbed environment of the workspace. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Working directory relative to the workspace; absent: its root. */
  readonly cwd?: string | undefined;
}

export interface McpWebServerConfig extends AnyMcpServerConfig {
  /** `sse` is the older transport of servers from before 2025. */
  readonly type: "http" | "sse";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** MCP servers of a session. A server runs as long as an agent uses it. */
export interface McpServers {
  /**
   * Connects one agent's servers; a server that already runs for others with the same name and configuration is shared.
   * Never rejects: a server that can't be used is reported in `problems`.
   */
  connect(uses: readonly McpServerUse[], owner: AgentId, signal: AbortSignal): Promise<McpConnection>;
  /** Ends all servers, also those in use. */
  close(): Promise<void>;
}

export interface McpConnection {
  /** Requested servers, in the order of the request. */
  readonly servers: readonly ConnectedMcpServer[];
  /**
   * Tools named `mcp__server__tool`, ordered by server and then by name. They stay the same while the connection lasts:
   * a tool that its server has removed returns an error.
   */
  readonly tools: readonly Tool[];
  /** Instructions of the servers for the system prompt, in the order of the servers. */
  readonly instructions: readonly { readonly server: string; readonly text: string }[];
  /** Problems so far, each with what to do about it. */
  readonly problems: readonly string[];
  /** Releases the servers. A server without other users is ended with all its processes. */
  release(): Promise<void>;
}

export interface ConnectedMcpServer {
  readonly name: string;
  /** With `failed`, the problems have the reason. */
  readonly status: "connected" | "failed";
}
