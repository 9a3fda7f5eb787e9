import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { WebSocket } from "ws";
import { createDeferred, describeError, errorCode, UserError } from "../lib/index.ts";
import type { Clock, WorkerPort } from "../ports/index.ts";
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";
import { Link } from "./link.ts";
import { closeCodes, type Hello, MESSAGE_BYTES, PROTOCOL, type Welcome } from "./protocol.ts";
import { type ServerAddressOptions, serverAddress } from "./server-address.ts";
import { WorkerHost, type WorkerHostOptions } from "./worker-host.ts";
import { ledgerId, lockLedgers, machineId } from "./worker-identity.ts";

export interface ConnectWorkerOptions
  extends ServerAddressOptions,
    Pick<WorkerHostOptions, "files" | "ledgerDirectory">,
    Pick<ConnectionOptions, "pingMs" | "silenceMs"> {
  readonly token: string;
  readonly name: string;
  readonly worker: WorkerPort;
  /** Version of Retinue. */
  readonly version: string;
  readonly clock: Clock;
  /** Stops the worker. */
  readonly signal: AbortSignal;
  /** Receives messages for the user. */
  readonly report: (message: string) => void;
  /** The server's certificate authority, in PEM format, unless it is publicly trusted. */
  readonly ca?: string | undefined;
  /** Time for the server to accept a connection and to answer the greeting, in milliseconds. */
  readonly handshakeMs?: number | undefined;
}

/** Delays between attempts to connect, which double from `firstMs` up to `lastMs`. */
const backoff = { firstMs: 100, lastMs: 3_000 };

const HANDSHAKE_MS = 10_000;

/** Interval at which the files of long-unused sessions are deleted. */
const DAY_MS = 24 * 3_600_000;

/** Time for sessions to end on their own when the worker is stopped. */
const STOP_MS = 500;

/**
 * Connects a worker to a server, and reconnects whenever the connection is lost. When the signal aborts, ends
 * everything that is running and returns. Throws a `UserError` if the server refuses the worker.
 */
export async function connectWorker(options: ConnectWorkerOptions): Promise<void> {
  const { worker, ledgerDirectory, files } = options;
  const address = serverAddress(options);
  const unlock = lockLedgers(options);
  const link = new Link();
  const host = new WorkerHost({ worker, link, ledgerDirectory, files });
  const dialer = new Dialer(options, { address, link, host });
  const cleaning = setInterval(() => host.removeOld(), DAY_MS);
  try {
    host.removeOld();
    await host.sweep();
    await dialer.run();
  } finally {
    clearInterval(cleaning);
    // Notify the server first, so that it parks the sessions before their calls are ended.
    const left = dialer.close();
    link.end(new Error("The worker has ended."));
    await Promise.race([host.stop(), wait(STOP_MS, undefined, { ref: false })]);
    await host.kill();
    await left;
    unlock();
  }
}

interface DialerParts {
  readonly address: URL;
  readonly link: Link;
  readonly host: WorkerHost;
}

/** Keeps one connection to the server open. */
class Dialer {
  private readonly options: ConnectWorkerOptions;
  private readonly parts: DialerParts;
  private readonly instance = randomUUID();
  private readonly ledger: string;
  private connections = 0;
  private failures = 0;
  private state: "new" | "connected" | "down" = "new";
  private hasConnected = false;
  private connection: Connection | undefined;

  constructor(options: ConnectWorkerOptions, parts: DialerParts) {
    this.options = options;
    this.parts = parts;
    this.ledger = ledgerId(options.ledgerDirectory);
  }

  async run(): Promise<void> {
    const { signal } = this.options;
    while (!signal.aborted) {
      const connection = await this.connect();
      if (connection) await this.serve(connection);
      const delay = Math.min(backoff.lastMs, backoff.firstMs * 2 ** this.failures);
      this.failures += 1;
      // The delay is random, so that workers that lost their connections together do not all reconnect at once.
      await wait(delay * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.connection?.close(closeCodes.leaving);
    await this.connection?.closed;
  }

  /** Opens a connection and introduces the worker. Returns undefined if the server can't be reached. */
  private async connect(): Promise<Connection | undefined> {
    const { clock, pingMs, silenceMs, signal, handshakeMs = HANDSHAKE_MS } = this.options;
    const { host } = this.parts;
    try {
      const socket = await this.dial();
      const connection = openConnection(socket, { clock, handlers: host, pingMs, silenceMs });
      this.connection = connection;
      try {
        const welcome = await this.beforeStop(connection.request("hello", this.hello()), handshakeMs);
        if (welcome === undefined) throw new Error("The server did not answer.");
        host.closeAll((welcome as Welcome).closed);
        return connection;
      } catch (error) {
        // A busy server may read the greeting late, and must not conclude that the worker was stopped.
        connection.close(signal.aborted ? closeCodes.leaving : closeCodes.unanswered);
        throw error;
      }
    } catch (error) {
      if (error instanceof UserError) throw error;
      if (isUnencrypted(error) && !this.hasConnected) {
        const fix = "Check the address. It may need to begin with http://.";
        throw new UserError(`${this.options.url} does not use encryption`, {
          code: "worker_server",
          fix,
          exitCode: 2,
        });
      }
      if (!this.options.signal.aborted) this.say("down", error);
      return undefined;
    }
  }

  /** Serves the worker until the connection is lost. */
  private async serve(connection: Connection): Promise<void> {
    const { signal, name } = this.options;
    this.failures = 0;
    this.parts.link.use(connection);
    this.say("connected");
    const code = await this.beforeStop(connection.closed);
    if (code === undefined) return;
    this.parts.link.use(undefined);
    if (code === closeCodes.superseded) {
      const message = `Another process has connected as worker "${name}" for this directory`;
      throw new UserError(message, {
        code: "worker_superseded",
        fix: "Stop one of them, or pass --name.",
        exitCode: 2,
      });
    }
    if (!signal.aborted) this.say("down");
  }

  /** Waits for a promise. Returns undefined if the worker is stopped or the time limit is reached first. */
  private async beforeStop<Value>(promise: Promise<Value>, limitMs?: number): Promise<Value | undefined> {
    const { signal } = this.options;
    const stopped = createDeferred<undefined>();
    const stop = (): void => stopped.resolve(undefined);
    const timer = limitMs === undefined ? undefined : setTimeout(stop, limitMs);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    try {
      return await Promise.race([promise, stopped.promise]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  private async dial(): Promise<WebSocket> {
    const { token, signal, ca, handshakeMs = HANDSHAKE_MS } = this.options;
    const { address } = this.parts;
    const opened = createDeferred<WebSocket>();
    const socket = new WebSocket(address, {
      headers: { authorization: `Bearer ${token}` },
      ca,
      maxPayload: MESSAGE_BYTES,
      perMessageDeflate: false,
      handshakeTimeout: handshakeMs,
    });
    const onAbort = (): void => socket.terminate();
    socket.once("open", () => opened.resolve(socket));
    socket.on("error", opened.reject);
    socket.once("unexpected-response", (_, response: IncomingMessage) => {
      response.resume();
      opened.reject(this.refusal(response));
      socket.terminate();
    });
    signal.addEventListener("abort", onAbort);
    try {
      return await opened.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Explains why a server did not accept a connection. After a `UserError`, the worker ends; otherwise it retries. */
  private refusal({ statusCode = 0 }: IncomingMessage): Error {
    const { url } = this.options;
    const isRefused = statusCode === 401 || statusCode === 403;
    if (isRefused) {
      const fix = "Use the one in the worker-token file in the server's state directory.";
      return new UserError(`${url} refused the token`, { code: "worker_token", fix, exitCode: 2 });
    }
    if (statusCode === 404 && !this.hasConnected) {
      const fix = "Check the address. It is the one that `retinue serve` prints.";
      return new UserError(`${url} is not a Retinue server`, { code: "worker_server", fix, exitCode: 2 });
    }
    if (statusCode === 421 && !this.hasConnected) {
      const fix = `Start the server with --allow-host ${this.parts.address.hostname}.`;
      return new UserError(`${url} does not accept this host name`, { code: "worker_server", fix, exitCode: 2 });
    }
    return new Error(`The server answered with status ${statusCode}.`);
  }

  private hello(): Hello {
    const { name, version, worker } = this.options;
    this.connections += 1;
    return {
      protocol: PROTOCOL,
      version,
      name,
      machine: machineId(),
      ledger: this.ledger,
      instance: this.instance,
      connection: this.connections,
      facts: worker.describe(),
      sessions: this.parts.host.held,
    };
  }

  private say(state: "connected" | "down", error?: unknown): void {
    const { url, name, report, worker } = this.options;
    if (state === this.state) return;
    this.state = state;
    if (state === "down" && this.hasConnected) report(`The connection to ${url} was lost. Reconnecting.`);
    else if (state === "down") {
      const reason = describeError(error).replace(/\.$/, "");
      const fix = this.fixOf(error);
      report(`${url} can't be reached: ${reason}.${fix} Trying again until you stop this worker.`);
    } else if (this.hasConnected) report(`Reconnected to ${url}.`);
    else report(`Connected to ${url} as worker "${name}" for ${worker.describe().root}.`);
    this.hasConnected ||= state === "connected";
  }

  /** Returns advice about a failed attempt to connect, with a leading space. */
  private fixOf(error: unknown): string {
    if (isUnknownAuthority(error)) return " Pass the server's certificate authority with --ca.";
    const mayNeedTls = errorCode(error) === "ECONNRESET" && this.parts.address.protocol === "ws:";
    return mayNeedTls ? " If the server uses TLS, its address begins with https://." : "";
  }
}

/** Returns whether a server answered without TLS. */
function isUnencrypted(error: unknown): boolean {
  return errorCode(error) === "EPROTO" && String(error).includes("wrong version number");
}

/** Returns whether a server's certificate is from an unknown authority. */
function isUnknownAuthority(error: unknown): boolean {
  return /SELF_SIGNED|UNABLE_TO_(VERIFY|GET)/.test(errorCode(error) ?? "");
}
