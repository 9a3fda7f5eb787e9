import type { IncomingMessage, ServerResponse } from "node:http";
import type * as z from "zod/v4";
import type { Scope } from "../../protocol/index.ts";
import type { Access } from "../access/tokens.ts";
import { type HttpProblem, problem } from "./problem.ts";

/** The validated parts of a request, which a route's handler gets. */
export interface RouteRequest<Parameters, Query, Body> {
  readonly parameters: Parameters;
  readonly query: Query;
  readonly body: Body;
  readonly access: Access;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

type Schema = z.ZodType;
type Value<Type> = Type extends Schema ? z.output<Type> : undefined;

/** Content of a successful response. */
export type RouteResponse =
  /** The value that the handler returns, as JSON. */
  | { readonly status: 200 | 201; readonly schema: Schema }
  | { readonly status: 204 }
  /** The handler writes the response itself. */
  | { readonly status: 200; readonly type: "text/event-stream" | "text/plain" | "text/html" };

/** A row in the table of routes, from which routes are registered, authorized, validated and documented. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path with parameters in braces, such as `/session/{id}`. */
  readonly path: string;
  /** Scope that a token must have. */
  readonly scope: Scope;
  /** Whether the browser's cookie is enough, which is the case only for pages without live data. */
  readonly page?: true | undefined;
  readonly summary: string;
  readonly parameters?: Schema | undefined;
  readonly query?: Schema | undefined;
  readonly body?: Schema | undefined;
  readonly response: RouteResponse;
  readonly handle: (request: RouteRequest<never, never, never>) => unknown;
}

type TypedRoute<Parameters, Query, Body> = Omit<Route, "parameters" | "query" | "body" | "handle"> & {
  readonly parameters?: Parameters;
  readonly query?: Query;
  readonly body?: Body;
  readonly handle: (request: RouteRequest<Value<Parameters>, Value<Query>, Value<Body>>) => unknown;
};

/** Creates a row of the table, with types inferred from its schemas. */
export function route<
  Parameters extends Schema | undefined = undefined,
  Query extends Schema | undefined = undefined,
  Body extends Schema | undefined = undefined,
>(row: TypedRoute<Parameters, Query, Body>): Route {
  return row as Route;
}

/** Throws an `HttpProblem` if the sender of a request may not use the route. */
export function authorize({ scope, page, method }: Route, { scopes, pages }: Access): void {
  if (scopes.has(scope) || (page && pages && method === "GET")) return;
  throw missingScope(scope);
}

export function missingScope(scope: Scope): HttpProblem {
  return problem(
    "forbidden",
    `This token does not have the ${scope} scope. The token in the link that \`retinue serve\` printed has it.`,
  );
}
