// Owns: MCP servers as tools: checking configurations; starting, sharing, restarting and ending servers; naming their
// tools.
// Does not own: who may call a tool (permissions), which agent gets which server (agents, app), processes (workspace).
// Called by: worker for servers that run as processes, app for remote servers and those in the program.
export { createMcpServers, mergeConnections } from "./create-mcp-servers.ts";
export { checkServerConfig, isOwnServer, readServerConfig, startsProcess } from "./server-config.ts";
export { nameServers } from "./tools/tool-names.ts";
