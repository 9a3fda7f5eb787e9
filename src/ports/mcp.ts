import type { AgentId, McpServerUse } from "../protocol/index.ts";
import type { Tool } from "./tool.ts";

/** As it stands in `.mcp.json`: `${NAME}` and `${NAME:-otherwise}` are not yet replaced. */
export type McpServerConfig = StdioMcpServerConfig | McpWebServerConfig;

interface AnyMcpServerConfig {
  /** Milliseconds one call may take; absent = the limit for all. */
  readonly timeout?: number | undefined;
}

export interface StdioMcpServerConfig extends AnyMcpServerConfig {
  readonly type: "stdio";
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Added to the scrubbed environment of the workspace. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Relative to the workspace; absent = its root. */
  readonly cwd?: string | undefined;
}

export interface McpWebServerConfig extends AnyMcpServerConfig {
  /** `sse` is the older way, which servers of before 2025 know. */
  readonly type: "http" | "sse";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The MCP servers of a session. They run as long as somebody uses them. */
export interface McpServers {
  /**
   * Connects one agent's servers; a server that already runs for others with the same name and configuration is shared.
   * Never rejects: what can't be had is in `problems`.
   */
  connect(uses: readonly McpServerUse[], owner: AgentId, signal: AbortSignal): Promise<McpConnection>;
  /** Ends all servers, whoever uses them. */
  close(): Promise<void>;
}

export interface McpConnection {
  /** Those that were asked for, in that order. */
  readonly servers: readonly ConnectedMcpServer[];
  /**
   * Named `mcp__server__tool`, in the order of the servers and then of the names. They stay the same for as long as the
   * connection lasts: a tool that its server took back answers with an error.
   */
  readonly tools: readonly Tool[];
  /** What servers say about their use, for the system text; in the order of the servers. */
  readonly instructions: readonly { readonly server: string; readonly text: string }[];
  /** What is wrong so far, each with its cure. */
  readonly problems: readonly string[];
  /** Gives the servers back; one that nobody else uses is ended with all its processes. */
  release(): Promise<void>;
}

export interface ConnectedMcpServer {
  readonly name: string;
  /** `failed`: the problems say why. */
  readonly status: "connected" | "failed";
}
