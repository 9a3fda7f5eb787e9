import type { IncomingMessage } from "node:http";
import * as z from "zod/v4";
import { deleteSession } from "../../app/index.ts";
import { createId } from "../../lib/index.ts";
import { MAIN_AGENT, type NewSession, type PermissionMode } from "../../protocol/index.ts";
import { problem } from "../http/problem.ts";
import { missingScope, type Route, route } from "../http/route.ts";
import type { ServerContext } from "../server-context.ts";
import { checkCursor, streamSession } from "../sessions/session-events.ts";
import {
  command,
  eventQuery,
  newLimit,
  newMessage,
  newSession,
  receipt,
  sessionInfo,
  sessionParameters,
} from "./schemas.ts";

/** Modes in which agents ask less often than by default. Choosing one approves calls in advance. */
const freerModes: readonly (PermissionMode | undefined)[] = ["acceptEdits", "bypassPermissions"];

/** Routes that start, steer, watch and delete sessions. */
export function sessionRoutes(context: ServerContext): readonly Route[] {
  const { projects, host, catalog, control } = context;
  return [
    route({
      method: "GET",
      path: "/session",
      scope: "read",
      summary: "Lists the sessions, newest first.",
      response: { status: 200, schema: z.array(sessionInfo) },
      handle: () => catalog.list(),
    }),
    route({
      method: "POST",
      path: "/session",
      scope: "prompt",
      summary: "Starts a session. The permission modes acceptEdits and bypassPermissions also need the approve scope.",
      body: newSession,
      response: { status: 201, schema: sessionInfo },
      handle: async ({ body, access }) => {
        const { prompt, worker, ...choices } = body satisfies NewSession;
        const checkMode = (mode: PermissionMode | undefined): void => {
          if (freerModes.includes(mode) && !access.scopes.has("approve")) throw missingScope("approve");
        };
        checkMode(choices.permissionMode);
        const served = await host.create(projects.choose(worker), choices, ({ permissionMode }) => {
          // Choosing an agent can be a way to choose its mode.
          if (choices.agent !== undefined) checkMode(permissionMode);
        });
        if (prompt !== undefined)
          await host.hold(served, ({ session }) => session.send(promptCommand({ content: textBlocks(prompt) })));
        return catalog.info(catalog.find(served.session.id));
      },
    }),
    route({
      method: "GET",
      path: "/session/{id}",
      scope: "read",
      summary: "Returns a session.",
      parameters: sessionParameters,
      response: { status: 200, schema: sessionInfo },
      handle: ({ parameters: { id } }) => catalog.info(catalog.find(id)),
    }),
    route({
      method: "DELETE",
      path: "/session/{id}",
      scope: "admin",
      summary: "Stops all of a session's agents and deletes its files.",
      parameters: sessionParameters,
      response: { status: 204 },
      handle: async ({ parameters: { id } }) => {
        const { summary, project } = catalog.find(id);
        if (summary.inUse && !host.has(id))
          throw problem("session_in_use", "Another process has this session open. Stop that process first.");
        await host.delete(id, () => {
          deleteSession({ home: project.home, project: summary.project, sessionId: id });
        });
        projects.forget(project, id);
      },
    }),
    route({
      method: "POST",
      path: "/session/{id}/message",
      scope: "prompt",
      summary: "Sends a message to a session's agent. A session that is not open is opened first.",
      parameters: sessionParameters,
      body: newMessage,
      response: { status: 200, schema: receipt },
      handle: ({ parameters: { id }, body: { prompt = "", content = textBlocks(prompt), ...rest } }) =>
        control.send(catalog.find(id), promptCommand({ content, ...rest })),
    }),
    route({
      method: "POST",
      path: "/session/{id}/command",
      scope: "prompt",
      summary:
        "Carries out a command once. Answers, changes to the permission mode and restoring files also need the approve scope.",
      parameters: sessionParameters,
      body: command,
      response: { status: 200, schema: receipt },
      handle: ({ parameters: { id }, body, access }) => {
        if (decides(body) && !access.scopes.has("approve")) throw missingScope("approve");
        return control.send(catalog.find(id), body);
      },
    }),
    route({
      method: "POST",
      path: "/session/{id}/limit",
      // With a weaker scope, an agent's command could raise its own session's budget.
      scope: "approve",
      summary: "Changes the maximum cost of a session. The session must not be working; a message resumes it.",
      parameters: sessionParameters,
      body: newLimit,
      response: { status: 200, schema: sessionInfo },
      handle: async ({ parameters: { id }, body }) => {
        const session = catalog.find(id);
        if (session.summary.inUse && !host.has(id))
          throw problem("session_in_use", "Another process has this session open. Stop that process first.");
        await host.change(session, body);
        return catalog.info(catalog.find(id));
      },
    }),
    route({
      method: "GET",
      path: "/session/{id}/event",
      scope: "read",
      summary:
        "Streams the events of a session and all its agents, starting after the event in Last-Event-ID or `after`.",
      parameters: sessionParameters,
      query: eventQuery,
      response: { status: 200, type: "text/event-stream" },
      handle: async ({ parameters: { id }, query, incoming, outgoing }) => {
        const after = lastEventId(incoming) ?? query.after ?? 0;
        checkCursor(catalog.find(id), after);
        const isView = query.view === "true" && after === 0;
        await streamSession(context.openStream(outgoing), { ...context, id, after, isView });
      },
    }),
  ];
}

/** Returns whether a command approves something: a call, calls in advance, or restoring files. */
function decides(body: z.output<typeof command>): boolean {
  if (body.type === "configure") return body.permissionMode !== undefined;
  return body.type === "answer" || (body.type === "rewind" && body.files);
}

function textBlocks(text: string) {
  return [{ type: "text" as const, text }];
}

interface SentMessage {
  readonly content: z.output<typeof newMessage>["content"] & {};
  readonly to?: string | undefined;
  readonly when?: "now" | "next" | undefined;
  readonly id?: string | undefined;
}

function promptCommand({ content, to = MAIN_AGENT, when = "now", id = createId("command_") }: SentMessage) {
  return { id, type: "prompt", to, content, when } as const;
}

function lastEventId({ headers }: IncomingMessage): number | undefined {
  const given = headers["last-event-id"];
  if (given === undefined || given === "") return undefined;
  if (typeof given === "string" && /^\d{1,15}$/.test(given)) return Number(given);
  throw problem("invalid_cursor", "Last-Event-ID must be the id of an event in this session.");
}
