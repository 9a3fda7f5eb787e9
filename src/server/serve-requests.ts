import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type Guard, securityHeaders } from "./access/guard.ts";
import type { Access, PageTicket } from "./access/tokens.ts";
import { handleRoutes, refuse } from "./http/handle-routes.ts";
import { sizeProblem } from "./http/json-body.ts";
import { styleHash } from "./http/pages.ts";
import { HttpProblem, problem } from "./http/problem.ts";
import { createRoutes } from "./routes/create-routes.ts";
import type { ServerContext } from "./server-context.ts";
import type { Limits, ServerOptions } from "./server-options.ts";

export interface Serving extends Pick<ServerOptions, "home" | "report"> {
  readonly context: ServerContext;
  readonly guard: Guard;
  readonly pages: PageTicket;
  readonly limits: Limits;
  readonly scheme: "http" | "https";
  readonly port: number;
}

/** Answers all requests to a server. The guard comes first, then the routes. */
export function serveRequests(
  http: Server,
  { context, guard, pages, limits, home, report, scheme, port }: Serving,
): void {
  const accesses = new WeakMap<IncomingMessage, Access>();
  const headers = securityHeaders(styleHash);
  const { projects, hub } = context;
  const withoutPaths = (message: string): string =>
    [{ name: "the state directory", root: home }, ...projects.all()].reduce(
      (text, { name, root }) => text.replaceAll(root, name),
      message,
    );
  const handle = handleRoutes({
    routes: createRoutes(context),
    accessOf: (request) => accesses.get(request) ?? { scopes: new Set(), pages: false },
    maxBodyBytes: limits.bodyBytes,
    withoutPaths,
    report: (message) => report(message),
  });

  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
    const wrong = guard.checkSite(incoming);
    const origin = wrong === undefined ? guard.foreignOrigin(incoming) : undefined;
    if (origin !== undefined) allowOrigin(outgoing, origin);
    if (wrong !== undefined) refuse(incoming, outgoing, wrong);
    else if (origin !== undefined && incoming.method === "OPTIONS") outgoing.writeHead(204).end();
    else if (incoming.method === "GET" && incoming.url?.startsWith(ticketPath)) redeem(incoming, outgoing);
    else letIn(incoming, outgoing);
  };

  function letIn(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const access = guard.identify(incoming);
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

  /** Exchanges the ticket of the link for a cookie, and removes it from the address that the browser shows. */
  function redeem(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const cookie = pages.redeem(incoming.url?.slice(ticketPath.length) ?? "");
    if (cookie === undefined) {
      refuse(incoming, outgoing, problem("unauthorized", "This link was already used. Start the server again."));
      return;
    }
    const secure = scheme === "https" ? "; Secure" : "";
    const value = `retinue-${port}=${cookie}; Path=/; HttpOnly; SameSite=Strict${secure}`;
    outgoing.writeHead(303, { "Set-Cookie": value, Location: "/" }).end();
  }

  function upgradeProblem({ url }: IncomingMessage, { scopes }: Access): HttpProblem | undefined {
    if (!scopes.has("worker")) return problem("forbidden", "Workers need the token in the file worker-token.");
    if (url === "/worker/link" && hub !== undefined) return undefined;
    return problem("not_found", "Workers connect at /worker/link.");
  }

  http.on("request", onRequest);
  http.on("checkContinue", onRequest);
  http.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    const access = guard.checkSite(incoming) ?? guard.identify(incoming);
    const wrong = access instanceof HttpProblem ? access : upgradeProblem(incoming, access);
    if (wrong === undefined) hub?.accept(incoming, socket, head);
    else refuseUpgrade(socket, wrong);
  });
}

/** Hono would answer HEAD like GET, and open a stream of events that nobody can read. */
function methodProblem({ method = "" }: IncomingMessage): HttpProblem | undefined {
  if (["GET", "POST", "DELETE"].includes(method)) return undefined;
  return problem("wrong_method", `No route has the method ${method}. GET /docs lists the routes.`);
}

const ticketPath = "/?ticket=";

function allowOrigin(outgoing: ServerResponse, origin: string): void {
  outgoing.setHeader("Access-Control-Allow-Origin", origin);
  outgoing.setHeader("Access-Control-Allow-Methods", "GET, POST, DELETE");
  outgoing.setHeader("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID");
  outgoing.setHeader("Vary", "Origin");
}

function refuseUpgrade(socket: Duplex, { problem: { status, detail } }: HttpProblem): void {
  const body = Buffer.from(detail);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}
