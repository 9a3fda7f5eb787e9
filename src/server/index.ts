// Owns: sessions over HTTP: routes, streams of events, tokens, and which sessions are open.
// Does not own: what a session does (app), the connections of workers (link). Called by: cli.
export { createServer, type RunningServer } from "./create-server.ts";
export type { Limits, RemoteWorker, ServerOptions, WorkerHub } from "./server-options.ts";
