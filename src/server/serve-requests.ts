import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { errorCode } from "../lib/index.ts";
import { type Guard, securityHeaders } from "./access/guard.ts";
import type { Access } from "./access/tokens.ts";
import type { Connections } from "./http/connections.ts";
import { handleRoutes, refuse } from "./http/handle-routes.ts";
import { sizeProblem } from "./http/json-body.ts";
import { escaped, Page, styleHash } from "./http/pages.ts";
import { HttpProblem, problem } from "./http/problem.ts";
import { readWebFiles } from "./http/web-files.ts";
import { createRoutes } from "./routes/create-routes.ts";
import type { ServerContext } from "./server-context.ts";
import type { Limits, ServerOptions } from "./server-options.ts";
import { withoutPaths } from "./without-paths.ts";

export interface Serving extends Pick<ServerOptions, "home" | "report" | "web"> {
  readonly context: ServerContext;
  readonly connections: Connections;
  readonly guard: Guard;
  readonly limits: Limits;
  /** Settles when requests can be answered. Those that arrive earlier have to wait. */
  readonly ready: Promise<void>;
}

/** Answers all requests to a server. The guard comes first, then the routes. */
export function serveRequests(http: Server, serving: Serving): void {
  const { context, connections, guard, limits, ready, home, report, web } = serving;
  const accesses = new WeakMap<IncomingMessage, Access>();
  const headers = securityHeaders(styleHash);
  const { projects, hub } = context;
  const webFiles = readWebFiles(web);
  const handle = handleRoutes({
    routes: createRoutes(context),
    accessOf: (request) => accesses.get(request) ?? { scopes: new Set(), pages: false },
    maxBodyBytes: limits.bodyBytes,
    // The paths of workers' directories stay in messages: a worker could claim any directory, such as `/`.
    withoutPaths: (message) => {
      const local = projects.all().filter(({ isRemote }) => !isRemote);
      return withoutPaths(message, [{ name: "the state directory", root: home }, ...local]);
    },
    report: (message) => report(message),
  });

  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
    const wrong = guard.checkSite(incoming);
    const origin = wrong === undefined ? guard.foreignOrigin(incoming) : undefined;
    if (origin !== undefined) allowOrigin(outgoing, origin);
    if (wrong !== undefined) refuse(incoming, outgoing, wrong);
    else if (origin !== undefined && incoming.method === "OPTIONS") outgoing.writeHead(204).end();
    else if (incoming.method === "GET" && incoming.url?.startsWith(ticketPath)) openLink(incoming, outgoing);
    else if (!webFiles.answer(incoming, outgoing)) letIn(incoming, outgoing);
  };

  function letIn(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const access = identify(incoming);
    const wrong =
      access instanceof HttpProblem ? access : (methodProblem(incoming) ?? sizeProblem(incoming, limits.bodyBytes));
    if (wrong !== undefined) {
      refuse(incoming, outgoing, wrong);
      return;
    }
    accesses.set(incoming, access as Access);
    if (incoming.headers.expect !== undefined) outgoing.writeContinue();
    void handle(incoming, outgoing);
  }

  function identify(incoming: IncomingMessage): Access | HttpProblem {
    const access = guard.identify(incoming);
    if (!(access instanceof HttpProblem)) connections.trust(incoming.socket);
    return access;
  }

  /** Removes the link's ticket from the address that the browser shows. */
  function openLink(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const cookie = guard.redeem(incoming, incoming.url?.slice(ticketPath.length) ?? "");
    if (cookie instanceof HttpProblem) refuseLink(incoming, outgoing, cookie);
    else outgoing.writeHead(303, { ...(cookie && { "Set-Cookie": cookie }), Location: "/" }).end();
  }

  function upgradeProblem({ url }: IncomingMessage, { scopes }: Access): HttpProblem | undefined {
    if (!scopes.has("worker")) return problem("forbidden", "Workers need the token in the worker-token file.");
    if (url === "/worker/link" && hub !== undefined) return undefined;
    return problem("not_found", "Workers connect at /worker/link.");
  }

  /** Newest response on each connection. */
  const responses = new WeakMap<Duplex, ServerResponse>();
  for (const event of ["request", "checkContinue"])
    http.on(event, (incoming: IncomingMessage, outgoing: ServerResponse) => {
      responses.set(incoming.socket, outgoing);
      void ready.then(() => onRequest(incoming, outgoing));
    });
  http.on("clientError", (error, socket) => {
    const response = responses.get(socket);
    const isResponding = response?.headersSent && !response.writableFinished;
    // No one can read a response on a broken connection, and no error fits into a response that has begun.
    if (errorCode(error) === "ECONNRESET" || !socket.writable || isResponding) socket.destroy();
    else refuseConnection(socket, malformed(error));
  });
  http.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    void ready.then(() => {
      const access = guard.checkSite(incoming) ?? identify(incoming);
      const wrong = access instanceof HttpProblem ? access : upgradeProblem(incoming, access);
      if (wrong === undefined) hub?.accept(incoming, socket, head);
      else refuseConnection(socket, wrong);
    });
  });
}

/** Hono would answer HEAD like GET, and open an event stream that no one can read. */
function methodProblem({ method = "" }: IncomingMessage): HttpProblem | undefined {
  if (["GET", "POST", "DELETE"].includes(method)) return undefined;
  return problem("wrong_method", `No route has the method ${method}. GET /docs lists the routes.`);
}

const ticketPath = "/?ticket=";

/** Refuses a link. Sends an HTML page if the link was opened in a browser. */
function refuseLink(incoming: IncomingMessage, outgoing: ServerResponse, wrong: HttpProblem): void {
  if (!incoming.headers.accept?.includes("text/html")) {
    refuse(incoming, outgoing, wrong);
    return;
  }
  const { status, detail } = wrong.problem;
  outgoing.writeHead(status, { ...wrong.headers, "Content-Type": "text/html; charset=utf-8" });
  outgoing.end(new Page("Retinue", `<h1>This link can't be used</h1>\n<p>${escaped(detail)}</p>`).html);
}

function allowOrigin(outgoing: ServerResponse, origin: string): void {
  outgoing.setHeader("Access-Control-Allow-Origin", origin);
  outgoing.setHeader("Access-Control-Allow-Methods", "GET, POST, DELETE");
  outgoing.setHeader("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID");
  outgoing.setHeader("Vary", "Origin");
}

/** Explains why Node's parser has refused a request. */
function malformed(error: Error): HttpProblem {
  switch (errorCode(error)) {
    case "HPE_HEADER_OVERFLOW":
      return problem("headers_too_large", "The headers are too large. Send fewer or shorter ones.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return problem("too_slow", "The request did not arrive in time. Send it again.");
    default:
      return problem("invalid_request", "This is not a valid HTTP request. Check the client.");
  }
}

/** Refuses a request that has no response object, and closes its connection. */
function refuseConnection(socket: Duplex, { problem: { status, ...rest } }: HttpProblem): void {
  const body = Buffer.from(JSON.stringify({ status, ...rest }));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}
