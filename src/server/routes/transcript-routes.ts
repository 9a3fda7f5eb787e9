import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import * as z from "zod/v4";
import { readPrompts, readSession, readWaitingPrompts, reportContext } from "../../app/index.ts";
import { type AgentInfo, MAIN_AGENT } from "../../protocol/index.ts";
import { problem } from "../http/problem.ts";
import { type Route, route } from "../http/route.ts";
import type { ServerContext } from "../server-context.ts";
import { SessionAgents } from "../sessions/session-agents.ts";
import {
  agentInfo,
  agentParameters,
  contextReport,
  linePage,
  lineQuery,
  pastPrompt,
  queuedPrompt,
  resultParameters,
  sessionParameters,
} from "./schemas.ts";

const PAGE = 200;

/** Routes that read a session's records. */
export function transcriptRoutes({ catalog }: ServerContext): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/session/{id}/agent",
      scope: "read",
      summary: "Lists a session's agents: the main agent, then the subagents at any depth, oldest first.",
      parameters: sessionParameters,
      response: { status: 200, schema: z.array(agentInfo) },
      handle: async ({ parameters: { id } }) => {
        const { path, summary, served } = catalog.find(id);
        const main: AgentInfo = {
          agentId: MAIN_AGENT,
          agentType: served?.session.agentType ?? MAIN_AGENT,
          description: summary.firstPrompt ?? "",
          path: [],
        };
        return [main, ...(await new SessionAgents(path).list())];
      },
    }),
    route({
      method: "GET",
      path: "/session/{id}/agent/{agent}/context",
      scope: "read",
      summary: "Reports what fills an agent's context window, in tokens.",
      parameters: agentParameters,
      response: { status: 200, schema: contextReport },
      handle: async ({ parameters: { id, agent } }) => {
        const report = await reportContext(readSession(catalog.find(id).path), agent);
        if (report !== undefined) return report;
        throw problem("unknown_agent", `Agent ${agent} has not made a request yet.`);
      },
    }),
    route({
      method: "GET",
      path: "/session/{id}/agent/{agent}/line",
      scope: "read",
      summary: "Returns at most `limit` lines of an agent's transcript, starting after the line `after`.",
      parameters: agentParameters,
      query: lineQuery,
      response: { status: 200, schema: linePage },
      handle: async ({ parameters: { id, agent }, query: { after = 0, limit = PAGE } }) => {
        const { lines, skipped } = await readSession(catalog.find(id).path).readAll(agent);
        if (lines.length === 0 && agent !== MAIN_AGENT)
          throw problem(
            "unknown_agent",
            `This session has no agent ${agent}. GET /session/${id}/agent lists the agents.`,
          );
        const rest = lines.filter((line) => Number(line.id) > after);
        const page = rest.slice(0, limit);
        const next = rest.length > page.length ? page.at(-1)?.id : undefined;
        return { lines: page, next, skipped: skipped.length > 0 ? skipped : undefined };
      },
    }),
    route({
      method: "GET",
      path: "/session/{id}/result/{result}",
      scope: "read",
      summary: "Returns a call's complete output if the transcript contains only part of it.",
      parameters: resultParameters,
      response: { status: 200, type: "text/plain" },
      handle: async ({ parameters: { id, result }, outgoing }) => {
        const file = await readSession(catalog.find(id).path).openResult(result);
        if (file === undefined)
          throw problem(
            "unknown_result",
            `This session has no output ${result}. Use the name in a retinue://result/NAME address from its transcripts.`,
          );
        outgoing.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" });
        // If the client disconnects, there is no one to report the error to.
        await pipeline(file.createReadStream(), outgoing).catch(() => undefined);
        if (!outgoing.closed) await once(outgoing, "close").catch(() => undefined);
      },
    }),
    route({
      method: "GET",
      path: "/session/{id}/prompt",
      scope: "read",
      summary: "Lists the prompts in the conversation that the `rewind` command can go back to, oldest first.",
      parameters: sessionParameters,
      response: { status: 200, schema: z.array(pastPrompt) },
      handle: ({ parameters: { id } }) => {
        const { path, project, summary } = catalog.find(id);
        return readPrompts(readSession(path), summary.cwd ?? project.root);
      },
    }),
    route({
      method: "GET",
      path: "/session/{id}/queue",
      scope: "read",
      summary: "Lists the queued prompts, oldest first.",
      parameters: sessionParameters,
      response: { status: 200, schema: z.array(queuedPrompt) },
      handle: ({ parameters: { id } }) => {
        const { served, path } = catalog.find(id);
        return (
          served?.session.queue() ?? readWaitingPrompts(path).map(({ promptId, content }) => ({ promptId, content }))
        );
      },
    }),
  ];
}
