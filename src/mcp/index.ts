// Owns: MCP servers as tools: checking configurations; starting, sharing, restarting and ending servers; naming their
// tools.
// Does not own: who may call a tool (permissions), which agent gets which server (agents, app), processes (workspace).
// Called by: app, which adds the tools of an agent's servers to the agent's own tools.
export { createMcpServers } from "./create-mcp-servers.ts";
