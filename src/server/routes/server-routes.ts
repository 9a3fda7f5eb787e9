import * as z from "zod/v4";
import { docsPage } from "../http/docs-page.ts";
import { describeApi } from "../http/openapi.ts";
import { type Route, route } from "../http/route.ts";
import type { ServerContext } from "../server-context.ts";
import { workerInfo } from "./schemas.ts";

/** Routes about the server itself: all sessions, workers and the description of the routes. */
export function serverRoutes(context: ServerContext, table: () => readonly Route[]): readonly Route[] {
  const { events, projects } = context;
  return [
    route({
      method: "GET",
      path: "/event",
      scope: "read",
      summary: "Streams a list of all sessions, approvals and workers, then changes to it.",
      response: { status: 200, type: "text/event-stream" },
      handle: ({ outgoing }) => events.add(context.openStream(outgoing)),
    }),
    route({
      method: "GET",
      path: "/worker",
      scope: "read",
      summary: "Lists the workers that sessions can be started on.",
      response: { status: 200, schema: z.array(workerInfo) },
      handle: () => projects.list(),
    }),
    route({
      method: "GET",
      path: "/openapi.json",
      scope: "read",
      page: true,
      summary: "Describes all routes in OpenAPI.",
      response: { status: 200, schema: z.looseObject({ openapi: z.string() }) },
      handle: () => describeApi(table()),
    }),
    route({
      method: "GET",
      path: "/docs",
      scope: "read",
      page: true,
      summary: "Describes all routes on a web page.",
      response: { status: 200, type: "text/html" },
      handle: () => docsPage(table()),
    }),
  ];
}
