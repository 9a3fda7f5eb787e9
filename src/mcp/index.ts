// Owns: MCP servers as tools: checking their configuration, starting, sharing, restarting and ending them, names of their tools.
// Does not own: who may call a tool (permissions), which agent gets which server (agents, app), processes (workspace).
// Called by: app, which adds the tools of an agent's servers to its own.
export { createMcpServers } from "./create-mcp-servers.ts";
