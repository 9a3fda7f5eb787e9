import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../app/system-clock.ts";
import { createDeferred } from "../lib/index.ts";
import type { WorkerPort } from "../ports/index.ts";
import { createLocalWorker as createReal, type LocalWorkerOptions } from "../worker/local-worker.ts";
import { type ConnectWorkerOptions, connectWorker } from "./connect-worker.ts";
import type { RemoteWorker } from "./remote-worker.ts";
import { createWorkerHub, type WorkerHub } from "./worker-hub.ts";

export type { LocalWorkerOptions };

// Replaces the local worker if tests run with RETINUE_TEST_WORKER=remote: every session then reaches its worker through
// a WebSocket on this machine, instead of by function calls.

export interface TestHub {
  readonly hub: WorkerHub;
  readonly url: string;
}

let started: Promise<TestHub> | undefined;
let count = 0;

/** Starts a server that consists only of a hub and does not keep the process running. */
export async function startHub(): Promise<TestHub> {
  const hub = createWorkerHub({ version: "test", clock: systemClock });
  const server = createServer();
  server.on("upgrade", hub.accept);
  server.listen(0, "127.0.0.1");
  server.unref();
  await once(server, "listening");
  return { hub, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Connects a worker to this process's hub. The returned function ends the worker. */
async function connect(worker: WorkerPort): Promise<{ readonly remote: RemoteWorker; end(): Promise<void> }> {
  started ??= startHub();
  const { hub, url } = await started;
  count += 1;
  const name = `w${count}`;
  const connected = createDeferred<RemoteWorker>();
  const stop = new AbortController();
  const forget = hub.onChange((each) => {
    if (each.name === name) connected.resolve(each);
  });
  const ended = serveWorker({ url, name, worker, signal: stop.signal });
  ended.catch(connected.reject);
  const remote = await connected.promise.finally(forget);
  return {
    remote,
    end: async () => {
      stop.abort();
      await ended;
    },
  };
}

/** Serves a worker to a hub, until the signal aborts. The hub determines the directories of its sessions' files. */
export function serveWorker(options: Pick<ConnectWorkerOptions, "url" | "name" | "worker" | "signal">): Promise<void> {
  return connectWorker({
    ...options,
    token: "none",
    ledgerDirectory: mkdtempSync(join(tmpdir(), "retinue-ledger-")),
    files: { open: ({ directory }) => directory, unusedSince: () => [], remove: () => {} },
    version: "test",
    clock: systemClock,
    report: () => {},
  });
}

export function createLocalWorker(options: LocalWorkerOptions): WorkerPort {
  const local = createReal(options);
  let connecting: ReturnType<typeof connect> | undefined;
  const link = () => {
    connecting ??= connect(local);
    return connecting;
  };
  return {
    describe: () => local.describe(),
    sweep: async (sessionId) => (await link()).remote.sweep(sessionId),
    snapshot: async (request) => (await link()).remote.snapshot(request),
    settings: async (request) => (await link()).remote.settings(request),
    openMemory: async (request) => (await link()).remote.openMemory(request),
    open: async (request) => {
      const { remote, end } = await link();
      const session = await remote.open(request).catch(async (error: unknown) => {
        await end();
        throw error;
      });
      const close = async () => {
        await session.close();
        await end();
      };
      return { ...session, close };
    },
  };
}
