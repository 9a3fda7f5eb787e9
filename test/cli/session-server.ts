import { readdirSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import {
  answerApproval,
  followSession,
  listApprovals,
  listSessions,
  readTranscript,
  type SessionSummary,
  steerSession,
} from "../../src/app/index.ts";
import {
  type AgentId,
  type AgentInfo,
  type ApprovalAnswer,
  type Command,
  type Line,
  MAIN_AGENT,
  type Scope,
  type SessionInfo,
  toWire,
} from "../../src/protocol/index.ts";

export interface SessionServer {
  readonly url: string;
  /** Cuts all connections. */
  cut(): void;
}

interface SessionServerOptions {
  /** State directory whose sessions are served. */
  readonly home: string;
  readonly tokens: Readonly<Record<string, readonly Scope[]>>;
}

/**
 * Starts a server for the sessions in a state directory. It supports only the routes of the real server that the
 * command line uses.
 */
export async function serveSessions({ home, tokens }: SessionServerOptions): Promise<SessionServer> {
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => problem(response, 500, String(error)));
  });

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const scopes = tokens[(incoming.headers.authorization ?? "").replace("Bearer ", "")];
    if (scopes === undefined) return problem(response, 401, "The token is not valid.");
    const { pathname, searchParams } = new URL(incoming.url ?? "", "http://server");
    const [, kind, id = "", part, name = "", last] = pathname.split("/");
    const body = await jsonBody(incoming);
    if (kind === "approval") return send(response, await waiting(home));
    if (kind !== "session") return problem(response, 404, "There is no such route.");
    const sessions = listSessions({ home });
    if (id === "") return send(response, await Promise.all(sessions.map((session) => infoOf(session, home))));
    const session = sessions.find((each) => each.id === id);
    if (session === undefined) return problem(response, 404, `There is no session ${id}.`);
    if (part === undefined) return send(response, await infoOf(session, home));
    if (part === "agent" && last === "line") return send(response, page(linesOf(session, name), searchParams));
    if (part === "agent") return send(response, agentsOf(session));
    if (part === "event") return stream(response, session, Number(incoming.headers["last-event-id"] ?? 0));
    if (part === "command") {
      const { id: commandId, ...command } = body as Command;
      const { receipt } = await steerSession({ home, sessionId: id, command, id: commandId });
      return send(response, receipt);
    }
    if (!scopes.includes("approve")) return problem(response, 403, "This token does not have the approve scope.");
    const { answer: verb, by } = body as ApprovalAnswer;
    await answerApproval({ home, request: name, verb, by, project: false });
    return send(response, { commandId: name, status: "done", message: "" });
  }

  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => server.closeAllConnections(),
  };
}

async function jsonBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
}

function send(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

function problem(response: ServerResponse, status: number, detail: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { "content-type": "application/problem+json" });
  response.end(JSON.stringify({ status, code: status === 404 ? "unknown_session" : "refused", detail }));
}

async function waiting(home: string, sessionId?: string) {
  const requests = await listApprovals(sessionId === undefined ? { home } : { home, sessionId });
  return requests.map(({ question, askedAt }) => ({ question, askedAt }));
}

async function infoOf(session: SessionSummary, home: string): Promise<SessionInfo> {
  const { id, cwd = "", createdAt, updatedAt, firstPrompt, lastOutcome, turns, model, inUse } = session;
  const approvals = (await waiting(home, id)).length;
  const state = inUse ? (approvals > 0 ? "waiting" : "running") : "ended";
  const known = { id, cwd, createdAt, updatedAt, turns, model, approvals, state } as const;
  return { ...known, worker: "local", title: firstPrompt, outcome: lastOutcome };
}

function linesOf({ path }: SessionSummary, agentId: AgentId): readonly Line[] {
  if (agentId === MAIN_AGENT) return readTranscript(path).lines;
  return readTranscript(join(subagentsOf(path), `agent-${agentId}.jsonl`)).lines;
}

function subagentsOf(path: string): string {
  return join(dirname(path), basename(path, ".jsonl"), "subagents");
}

function page(lines: readonly Line[], query: URLSearchParams): { lines: readonly Line[]; next?: string | undefined } {
  // Pages are small, so that every transcript has several pages.
  const limit = Math.min(3, Number(query.get("limit") ?? 3));
  const rest = lines.filter((line) => Number(line.id) > Number(query.get("after") ?? 0));
  const shown = rest.slice(0, limit);
  return { lines: shown, next: rest.length > shown.length ? shown.at(-1)?.id : undefined };
}

function agentsOf(session: SessionSummary): readonly AgentInfo[] {
  const main = { agentId: MAIN_AGENT, agentType: MAIN_AGENT, description: session.firstPrompt ?? "", path: [] };
  const created = readdirSync(subagentsOf(session.path))
    .flatMap((name) => /^agent-(.+)\.jsonl$/.exec(name)?.[1] ?? [])
    .flatMap((agentId) => linesOf(session, agentId).slice(0, 1));
  const agents = created
    .sort((left, right) => (left.seq ?? 0) - (right.seq ?? 0))
    .flatMap((line) => {
      if (line.type !== "agent.created") return [];
      const { agentId, agentType, name, description } = line;
      return [{ agentId, agentType, name, description, path: [agentId] }];
    });
  return [main, ...agents];
}

async function stream(response: ServerResponse, session: SessionSummary, after: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  const leaving = new AbortController();
  response.once("close", () => leaving.abort());
  for await (const update of followSession({ path: session.path, after, signal: leaving.signal })) {
    const wire = toWire(update, { agentType: "general-purpose", path: [update.agentId] });
    response.write(`id: ${update.seq}\ndata: ${JSON.stringify(wire)}\n\n`);
  }
  response.end(`data: ${JSON.stringify({ type: "session_closed", reason: "ended" })}\n\n`);
}
