import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import * as z from "zod/v4";
import { describeError, errorCode, UserError } from "../../lib/index.ts";
import type { Access } from "../access/tokens.ts";
import { clientText } from "../client-text.ts";
import { readJsonBody } from "./json-body.ts";
import { Page } from "./pages.ts";
import { HttpProblem, problem } from "./problem.ts";
import { authorize, type Route } from "./route.ts";
import { validate } from "./validate.ts";

export interface RouteHandling {
  readonly routes: readonly Route[];
  /** Returns what the sender of a request may do, as determined by the guard. */
  readonly accessOf: (request: IncomingMessage) => Access;
  readonly maxBodyBytes: number;
  /** Removes this machine's paths from a message. */
  readonly withoutPaths: (message: string) => string;
  readonly report: (message: string) => void;
}

/** Creates the listener for requests that the guard has accepted. */
export function handleRoutes(handling: RouteHandling): ReturnType<typeof getRequestListener> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  for (const route of handling.routes) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    app.on(route.method, path, (context) => respond(route, context, handling));
  }
  app.notFound(() => problemResponse(problem("not_found", "There is no such route. GET /docs lists the routes.")));
  app.onError((error) => problemResponse(asProblem(error, handling)));
  return getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: (error) => problemResponse(asProblem(error, handling)),
  });
}

async function respond(
  route: Route,
  context: Context<{ Bindings: HttpBindings }>,
  { accessOf, maxBodyBytes, report }: RouteHandling,
): Promise<Response> {
  const { incoming, outgoing } = context.env;
  const access = accessOf(incoming);
  authorize(route, access);
  const parameters = validate(route.parameters, context.req.param(), "address");
  const query = validate(route.query ?? noQuery, queryOf(context.req.queries()), "query");
  const body = route.body && validate(route.body, await readJsonBody(incoming, maxBodyBytes), "body");
  const request = { parameters, query, body, access, incoming, outgoing } as Parameters<Route["handle"]>[0];
  const value = await handled(() => route.handle(request), outgoing, report);
  if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
  if (value instanceof Page) return context.html(value.html);
  const { status } = route.response;
  return status === 204 ? context.body(null, 204) : context.json(value as object, status);
}

const noQuery = z.strictObject({});

/**
 * Waits for a handler. If it fails after it began to respond, closing the connection is the only way to tell the
 * client.
 */
async function handled(
  handle: () => unknown,
  outgoing: ServerResponse,
  report: RouteHandling["report"],
): Promise<unknown> {
  try {
    return await handle();
  } catch (error) {
    if (!outgoing.headersSent) throw error;
    report(`A response was cut off: ${describeError(error)}`);
    outgoing.destroy();
    return undefined;
  }
}

/** Returns a query's values. A repeated parameter becomes a list, which no schema accepts. */
function queryOf(queries: Readonly<Record<string, string[]>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(queries).map(([name, [first, ...more]]) => [name, more.length ? more : first]),
  );
}

function asProblem(error: unknown, { withoutPaths, report }: RouteHandling): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const system = systemCode(error);
  if (system !== undefined) {
    const message = describeError(error);
    report(`A request failed: ${message}`);
    return problem(system, withoutPaths(clientText(`${message.replace(/\.$/, "")}.`)));
  }
  if (error instanceof UserError) {
    const text = `${error.message.replace(/\.$/, "")}.${error.fix ? ` ${error.fix}` : ""}`;
    const known = (["session_in_use", "worker_lost"] as const).find((code) => code === error.code);
    return problem(known ?? "refused", withoutPaths(clientText(text)));
  }
  report(`A request failed: ${describeError(error)}`);
  return problem("internal_error", "This is a bug in Retinue. See the server's output for details.");
}

/** Returns the code for an error that has its cause outside Retinue. Clients can send the request again later. */
function systemCode(error: unknown): "disk_full" | "unavailable" | undefined {
  const inner = error instanceof UserError ? error.cause : error;
  const code = errorCode(inner) ?? "";
  if (["ENOSPC", "EDQUOT"].includes(code)) return "disk_full";
  return ["EFBIG", "EMFILE", "ENFILE", "EROFS", "EIO"].includes(code) ? "unavailable" : undefined;
}

function problemResponse(error: HttpProblem): Response {
  const headers = { ...error.headers, "Content-Type": "application/problem+json" };
  return new Response(JSON.stringify(error.problem), { status: error.problem.status, headers });
}

/** Refuses a request before its body is read. */
export function refuse(incoming: IncomingMessage, outgoing: ServerResponse, error: HttpProblem): void {
  const hasBody = incoming.headers["transfer-encoding"] !== undefined || Number(incoming.headers["content-length"]) > 0;
  if (hasBody) outgoing.setHeader("Connection", "close");
  outgoing.writeHead(error.problem.status, { ...error.headers, "Content-Type": "application/problem+json" });
  outgoing.end(JSON.stringify(error.problem));
  if (!hasBody) return;
  // A client that is still sending reads the response only if the connection stays open for a moment.
  incoming.resume();
  setTimeout(() => incoming.destroy(), DRAIN_MS).unref();
}

const DRAIN_MS = 1_000;
