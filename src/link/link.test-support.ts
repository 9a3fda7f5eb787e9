import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { systemClock } from "../app/index.ts";
import type { WorkerPort, WorkerSession, WorkerSessionOptions } from "../ports/index.ts";
import type { Policy, ToolCall } from "../protocol/index.ts";
import { bundleProgram } from "../testing/bundle-program.test-support.ts";
import { createLocalWorker } from "../worker/index.ts";
import {
  type ConnectWorkerOptions,
  connectWorker,
  createWorkerHub,
  type RemoteWorker,
  type WorkerHub,
  type WorkerHubOptions,
} from "./index.ts";
import type { WorkerProcessOptions } from "./run-worker.test-support.ts";

/** A server that consists only of a hub. */
export interface TestServer {
  readonly hub: WorkerHub;
  readonly port: number;
  /** Waits until the hub reports this kind of change, and resolves with the worker that changed. */
  next(change: string, name?: string): Promise<RemoteWorker>;
  close(): Promise<void>;
}

export async function startServer(options: Partial<WorkerHubOptions> = {}): Promise<TestServer> {
  const hub = createWorkerHub({ version: "1.0.0", clock: systemClock, ...options });
  const server = createServer((_, response) => response.writeHead(404).end());
  server.on("upgrade", (request, socket, head) => {
    if (request.headers.authorization === "Bearer secret") return hub.accept(request, socket, head);
    socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    await hub.close();
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return {
    hub,
    port: (server.address() as AddressInfo).port,
    next: (change, name) =>
      new Promise((resolve) => {
        const stop = hub.onChange((worker, seen) => {
          if (seen !== change || (name !== undefined && worker.name !== name)) return;
          stop();
          resolve(worker);
        });
      }),
    close,
  };
}

/** A network between workers and a server, which can fail. */
export interface Network {
  readonly url: string;
  /** Port of the server that new connections are forwarded to. */
  target: number;
  /** Cuts all connections. */
  cut(): void;
  /** Holds back messages from workers until connections are cut. */
  hold(): void;
  /** Whether new connections are refused. */
  isDown: boolean;
}

export async function startNetwork(target: number): Promise<Network> {
  const pairs = new Set<{ readonly near: Socket; readonly far: Socket }>();
  const server = createTcpServer((near) => {
    if (network.isDown) return near.destroy();
    const far = connect(network.target, "127.0.0.1");
    const pair = { near, far };
    pairs.add(pair);
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.once("close", () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
    return undefined;
  });
  const cut = () => {
    for (const { near, far } of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    cut();
    server.close();
  });
  const network: Network = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target,
    isDown: false,
    cut,
    hold: () => {
      for (const { near, far } of pairs) near.unpipe(far);
    },
  };
  return network;
}

export interface TestPlace {
  readonly root: string;
  readonly home: string;
  readonly ledgerDirectory: string;
}

export function newPlace(): TestPlace {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "retinue-link-")));
  onTestFinished(() => rmSync(top, { recursive: true, force: true, maxRetries: 5 }));
  return {
    root: realpathSync(mkdtempSync(join(top, "work-"))),
    home: join(top, "home"),
    ledgerDirectory: join(top, "ledger"),
  };
}

export interface TestWorker {
  /** Messages for the user. */
  readonly said: readonly string[];
  /** Settles when the worker ends. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

type WorkerOptions = Partial<ConnectWorkerOptions> & { readonly url: string; readonly at: TestPlace };

/** Connects a worker in this process. */
export function startWorker({ at, ...options }: WorkerOptions): TestWorker {
  const controller = new AbortController();
  const said: string[] = [];
  const ended = connectWorker({
    token: "secret",
    name: "box",
    worker: localWorker(at),
    ledgerDirectory: at.ledgerDirectory,
    version: "1.0.0",
    clock: systemClock,
    signal: controller.signal,
    report: (message) => said.push(message),
    ...options,
  });
  ended.catch(() => undefined);
  const stop = async () => {
    controller.abort();
    await ended.catch(() => undefined);
  };
  onTestFinished(stop);
  return { said, ended, stop };
}

export function localWorker({ root, home }: TestPlace): WorkerPort {
  return createLocalWorker({
    root,
    home,
    state: home,
    environment: { PATH: process.env["PATH"], HOME: home },
    clock: systemClock,
    version: "1.0.0",
    report: () => {},
  });
}

export interface WorkerProcess {
  readonly child: ChildProcess;
  /** Kills the process, so that it can't clean up. */
  kill(): Promise<void>;
}

const program = join(import.meta.dirname, "run-worker.test-support.ts");

/** Starts a worker in another process. */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [bundleProgram(program), JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  onTestFinished(() => end("SIGTERM"));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  await Promise.race([once(lines, "line"), exited]);
  return { child, kill: () => end("SIGKILL") };
}

export const everything: Policy = {
  mode: "bypassPermissions",
  pool: ["Read", "Write", "Edit", "Bash"],
  rules: [],
  workspaceRoots: [],
  readableRoots: [],
};

export function toolCall(callId: string, name: string, input: object): ToolCall {
  return { callId, name, inputJson: JSON.stringify(input) };
}

/**
 * Id of the session that tests open. Each process uses a new id, because a session's processes are found by its id, and
 * several test runs may share a machine.
 */
export const testSession = `s-${randomUUID()}`;

/** Opens a session whose long results are kept in memory. */
export function openOn(worker: WorkerPort, more: Partial<WorkerSessionOptions> = {}): Promise<WorkerSession> {
  const saved = new Map<string, string>();
  return worker.open({
    sessionId: testSession,
    since: 0,
    sandbox: { mode: "off" },
    passedVariables: [],
    trusted: true,
    results: {
      save: async (id, text) => {
        saved.set(`retinue://result/${id}`, String(text));
        return `retinue://result/${id}`;
      },
      saveFile: async (id) => `retinue://result/${id}`,
    },
    report: () => {},
    ...more,
  });
}
