// Owns: both ends of the wire between a server, on which sessions run, and workers, where the code is.
// Does not own: what a worker does (worker), who may connect (server), when sessions are opened again (server).
// Called by: cli, for `retinue worker` and to give `retinue serve` its connected workers.
export { type ConnectWorkerOptions, connectWorker } from "./connect-worker.ts";
export { WORKER_PATH } from "./protocol.ts";
export { WorkerLost } from "./remote-session.ts";
export type { RemoteWorker } from "./remote-worker.ts";
export { createSessionFiles, type SessionFiles } from "./session-files.ts";
export { createWorkerHub, type WorkerHub, type WorkerHubOptions, type WorkerListener } from "./worker-hub.ts";
