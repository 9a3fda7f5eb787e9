import { refuseAgentCommand } from "../app/index.ts";
import { createDeferred, describeError, isLoopback, UserError } from "../lib/index.ts";
import { createGuard } from "./access/guard.ts";
import { claimPlace } from "./access/server-file.ts";
import { createSecret, PageTicket, Tokens } from "./access/tokens.ts";
import { Connections, connectionLimits } from "./http/connections.ts";
import { EventStream } from "./http/event-stream.ts";
import { createNodeServer, listen } from "./http/node-server.ts";
import { problem } from "./http/problem.ts";
import { serveRequests } from "./serve-requests.ts";
import type { ServerContext } from "./server-context.ts";
import { defaultLimits, type Limits, type ServerOptions } from "./server-options.ts";
import { type Project, Projects } from "./sessions/projects.ts";
import { startSchedules } from "./sessions/schedules.ts";
import { ServerEvents } from "./sessions/server-events.ts";
import { SessionCatalog } from "./sessions/session-catalog.ts";
import { SessionControl } from "./sessions/session-control.ts";
import { SessionHost } from "./sessions/session-host.ts";
import { SessionViews } from "./sessions/session-views.ts";
import { withoutRepeats } from "./without-repeats.ts";

/** A running server. */
export interface RunningServer {
  readonly url: string;
  /** Link to open in a browser. It works once, and contains the token. */
  readonly link: string;
  /** Token with the `read`, `prompt`, `approve` and `admin` scopes. */
  readonly token: string;
  /** File with the token for other clients of the same user. */
  readonly file: string;
  readonly workerToken: string;
  readonly projects: readonly Project[];
  /** Settles when the sessions that were working when the last server stopped have been resumed. Never rejects. */
  readonly resumed: Promise<void>;
  /** Parks all sessions and stops. */
  close(): Promise<void>;
}

/** Starts a server. Throws a `UserError` for problems that the user must fix. */
export async function createServer(given: ServerOptions): Promise<RunningServer> {
  refuseAgentCommand("start a server");
  const options = { ...given, report: withoutRepeats(given.report, given.clock.monotonic) };
  const limits = { ...defaultLimits, ...connectionLimits(), ...options.limits };
  const { host = "127.0.0.1", home } = options;
  refuseOpenNetwork(host, options);
  const { hub, report } = options;
  const projects = new Projects({ home, directories: options.projects, hub, report });
  const place = await claimPlace(home);
  try {
    const context = createContext({ ...options, projects, limits });
    const http = createNodeServer(options.tls, limits);
    const port = await listen(http, { port: options.port, host });
    const token = createSecret();
    const clientToken = createSecret();
    const tokens = new Tokens();
    tokens.add(token, ["read", "prompt", "approve", "admin"]);
    tokens.add(clientToken, ["read", "prompt", "admin"]);
    tokens.add(place.workerToken, ["worker"]);
    const pages = new PageTicket();
    const scheme = options.tls === undefined ? "http" : "https";
    const guard = createGuard({
      scheme,
      hosts: acceptedHosts({ ...options, host, port }),
      origins: new Set(options.allowOrigins),
      tokens,
      pages,
      cookieName: `retinue-${port}`,
      monotonic: options.clock.monotonic,
    });
    const connections = new Connections(http, { limits, report });
    const { promise: ready, resolve: begin } = createDeferred<void>();
    serveRequests(http, { ...options, context, connections, guard, limits, ready });
    const url = `${scheme}://${urlHost(host)}:${port}`;
    await place.publish({ url, pid: process.pid, token: clientToken });
    const { control, catalog } = context;
    const resume = (worker?: string): Promise<void> =>
      control.resumeAll(
        catalog.leftOpen(worker),
        ({ project }) => options.resume !== false && projects.isAvailable(project),
      );
    const resumed = resume();
    const stopListening = followWorkers(context, { resume, report: given.report });
    const schedules = startSchedules(options, context);
    // Clients that were connected to the last server come back as soon as this one listens. Without its token they would
    // be refused, and before its sessions are being resumed they would be told that these have ended.
    begin();
    return {
      url,
      link: `${url}/?ticket=${pages.ticket}#${token}`,
      token,
      file: place.path,
      workerToken: place.workerToken,
      projects: projects.local,
      resumed,
      close: once(async () => {
        http.close();
        schedules.close();
        stopListening?.();
        await withTimeLimit(context.host.stop(), limits.stopMs);
        context.events.close();
        context.views.close();
        await hub?.close();
        // Clients get the last events of their sessions before their connections are closed.
        await withTimeLimit(new Promise<void>((resolve) => http.once("close", resolve)), CLOSING_MS);
        http.closeAllConnections();
        place.leave();
      }),
    };
  } catch (error) {
    place.leave();
    throw error;
  }
}

const CLOSING_MS = 500;

function createContext(
  options: Omit<ServerOptions, "projects" | "limits"> & { projects: Projects; limits: Limits },
): ServerContext {
  const { home, environment, projects, hub, clock, report, limits } = options;
  const host = new SessionHost({ home, projects, environment, clock, report, limits });
  const catalog = new SessionCatalog({ projects, host });
  let streams = 0;
  return {
    home,
    environment,
    projects,
    hub,
    host,
    catalog,
    control: new SessionControl({ projects, host, catalog, report }),
    events: new ServerEvents({
      catalog,
      workers: () => projects.list(),
      monotonic: clock.monotonic,
      report: (error) => report(describeError(error)),
    }),
    views: new SessionViews(host),
    openStream(outgoing) {
      // When the server stops, disconnected clients connect again at once. They are refused, so that they do not
      // conclude that their parked sessions have ended.
      host.refuseIfStopping();
      if (streams >= limits.streams)
        throw problem("too_many_clients", "Too many clients are reading events. Close some, then try again.");
      streams += 1;
      outgoing.once("close", () => {
        streams -= 1;
      });
      return new EventStream(outgoing, limits);
    },
  };
}

/**
 * Parks lost workers' sessions, and resumes the sessions of workers that connect. Returns a function that stops
 * listening.
 */
function followWorkers(
  { hub, projects, host }: ServerContext,
  {
    resume,
    report,
  }: { readonly resume: (worker: string) => Promise<void>; readonly report: (message: string) => void },
): (() => void) | undefined {
  /** Promises that settle when a lost worker's sessions are parked, by the worker's name. */
  const parking = new Map<string, Promise<void>>();
  return hub?.onChange(async (worker, change) => {
    const { name } = worker;
    if (change === "lost") {
      report(`The worker ${name} is no longer connected. Its sessions continue when it returns.`);
      parking.set(name, host.loseWorker(name));
    }
    if (change !== "connected" && change !== "returned") return;
    report(`The worker ${name} is connected${change === "returned" ? " again" : ""}.`);
    projects.add(name, worker.describe().root);
    // A restarted worker is reported as lost and as returned at the same moment.
    await parking.get(name);
    await resume(name);
  });
}

/** Throws a `UserError` if other machines could read the server's traffic. */
function refuseOpenNetwork(host: string, { tls, insecure }: ServerOptions): void {
  if (host === "localhost" || isLoopback(host) || tls !== undefined || insecure) return;
  throw new UserError(`Without TLS, others on the network could read everything that is sent to ${host}`, {
    code: "tls",
    fix: "Add --tls-cert FILE --tls-key FILE. On a private network, you can use --insecure instead.",
    exitCode: 2,
  });
}

/** Returns the Host header values that the server accepts. */
function acceptedHosts({
  host,
  port,
  allowHosts = [],
}: Pick<ServerOptions, "allowHosts"> & { host: string; port: number }): ReadonlySet<string> {
  const names = ["127.0.0.1", "localhost", "[::1]", urlHost(host)].map((name) => `${name}:${port}`);
  const allowed = allowHosts.flatMap((name) => (/:\d+$/.test(name) ? [name] : [name, `${name}:${port}`]));
  return new Set([...names, ...allowed].map((name) => name.toLowerCase()));
}

/**
 * Returns the host name to use in the server's addresses. No client can connect to the address that represents all
 * interfaces.
 */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

/** Waits for a promise, but not longer than the given time. */
async function withTimeLimit(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= action();
    return done;
  };
}
