import type { Route } from "../http/route.ts";
import type { ServerContext } from "../server-context.ts";
import { agentRoutes } from "./agent-routes.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { serverRoutes } from "./server-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { transcriptRoutes } from "./transcript-routes.ts";

/** Creates the table of all routes. */
export function createRoutes(context: ServerContext): readonly Route[] {
  const routes: readonly Route[] = [
    ...sessionRoutes(context),
    ...transcriptRoutes(context),
    ...approvalRoutes(context),
    ...agentRoutes(context),
    ...serverRoutes(context, () => routes),
  ];
  return routes;
}
