// Owns: sessions over HTTP, including routes, event streams, tokens, and which sessions are open. Does not own: what a
// session does (app), workers' connections (link). Called by: cli.
export { createServer, type RunningServer } from "./create-server.ts";
export type { Limits, RemoteWorker, ServerOptions, WorkerHub } from "./server-options.ts";
