import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpServer, type McpBehavior, type McpMessage } from "./mcp-server.test-support.ts";

export interface McpWebServer {
  readonly url: string;
  /** Sessions that were started and not ended. */
  readonly sessions: ReadonlySet<string>;
  close(): Promise<void>;
}

/** Starts an MCP server on loopback that speaks streamable HTTP. */
export async function startMcpWebServer(behavior: McpBehavior = {}): Promise<McpWebServer> {
  const mcp = createMcpServer(behavior);
  const sessions = new Set<string>();
  let count = 0;
  let forgot = false;

  const server = createServer((request, response) => {
    void respond(request, response).catch(() => response.destroy());
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = String(request.headers["mcp-session-id"]);
    if (behavior.token !== undefined && request.headers.authorization !== behavior.token) {
      response.writeHead(401).end("Wrong token");
      return;
    }
    if (request.method === "DELETE") {
      response.writeHead(sessions.delete(session) ? 200 : 404).end();
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const message = JSON.parse(await bodyOf(request)) as McpMessage;
    if (message.method === "tools/call" && mcp.calls() + 1 === behavior.forgetAtCall && !forgot) {
      sessions.clear();
      forgot = true;
    }
    if (message.method === "initialize") sessions.add(`s${++count}`);
    else if (!sessions.has(session)) {
      response.writeHead(404).end("There is no such session");
      return;
    }
    const notifications: object[] = [];
    const answer = await mcp.answer(message, {
      send: (notification) => void notifications.push(notification),
      crash: () => void response.destroy(),
    });
    if (response.destroyed) return;
    if (message.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const headers: Record<string, string> = message.method === "initialize" ? { "mcp-session-id": `s${count}` } : {};
    const breaks = message.method === "tools/call" && mcp.calls() === behavior.breakAtCall;
    const messages = answer && !breaks ? [...notifications, answer] : notifications;
    write(response, { messages, headers, breaks });
  }

  function write(
    response: ServerResponse,
    { messages, headers, breaks }: { messages: object[]; headers: Record<string, string>; breaks: boolean },
  ): void {
    if (behavior.streams || breaks) {
      response.writeHead(200, { ...headers, "content-type": "text/event-stream" });
      // Once the headers are sent, a broken connection cuts the answer short instead of refusing the request.
      response.write(": start\n\n", () => breaks && response.socket?.destroy());
      for (const message of messages) response.write(eventOf(message));
      if (messages.length > 0) response.end();
      return;
    }
    // If there are no messages, nothing is sent, so the client waits as it would for a server that hangs.
    if (messages.length === 0) return;
    response.writeHead(200, { ...headers, "content-type": "application/json" });
    response.end(JSON.stringify(messages.at(-1)));
  }

  return { url: `${await listen(server)}/mcp`, sessions, close: () => close(server) };
}

/** Starts an MCP server on loopback that speaks HTTP with SSE: one event stream for all answers, requests by POST. */
export async function startMcpSseServer(behavior: McpBehavior = {}): Promise<{ url: string; close(): Promise<void> }> {
  const mcp = createMcpServer(behavior);
  let stream: ServerResponse | undefined;
  const send = (message: object) => void stream?.write(eventOf(message));
  const crash = () => void stream?.destroy();

  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      stream.write("event: endpoint\ndata: /messages\n\n");
      return;
    }
    const message = JSON.parse(await bodyOf(request)) as McpMessage;
    response.writeHead(202).end();
    const answer = await mcp.answer(message, { send, crash });
    if (answer) send(answer);
  });
  return { url: `${await listen(server)}/sse`, close: () => close(server) };
}

function eventOf(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function close(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });
}
