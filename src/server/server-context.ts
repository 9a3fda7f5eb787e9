import type { ServerResponse } from "node:http";
import type { EventStream } from "./http/event-stream.ts";
import type { WorkerHub } from "./server-options.ts";
import type { Projects } from "./sessions/projects.ts";
import type { ServerEvents } from "./sessions/server-events.ts";
import type { SessionCatalog } from "./sessions/session-catalog.ts";
import type { SessionControl } from "./sessions/session-control.ts";
import type { SessionHost } from "./sessions/session-host.ts";
import type { SessionViews } from "./sessions/session-views.ts";

/** The parts of a server that its routes use. */
export interface ServerContext {
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly projects: Projects;
  readonly hub?: WorkerHub | undefined;
  readonly host: SessionHost;
  readonly catalog: SessionCatalog;
  readonly control: SessionControl;
  readonly events: ServerEvents;
  readonly views: SessionViews;
  /** Begins a stream of events. Throws an `HttpProblem` if there are too many streams. */
  openStream(outgoing: ServerResponse): EventStream;
}
