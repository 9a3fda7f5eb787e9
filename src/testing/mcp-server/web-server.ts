import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpLife, type McpMessage } from "./answer-message.ts";
import type { McpBehaviour } from "./behaviour.ts";

export interface McpWebServer {
  readonly url: string;
  /** Sessions that were begun and not ended. */
  readonly sessions: ReadonlySet<string>;
  close(): Promise<void>;
}

/** An MCP server on loopback, by streamable HTTP. Behaves as it is told. */
export async function startMcpWebServer(behaviour: McpBehaviour = {}): Promise<McpWebServer> {
  const life = createMcpLife(behaviour);
  const sessions = new Set<string>();
  let count = 0;
  let forgot = false;

  const server = createServer((request, response) => {
    void respond(request, response).catch(() => response.destroy());
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = String(request.headers["mcp-session-id"]);
    if (behaviour.token !== undefined && request.headers.authorization !== behaviour.token) {
      response.writeHead(401).end("Who are you?");
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
    if (message.method === "tools/call" && life.calls() + 1 === behaviour.forgetAtCall && !forgot) {
      sessions.clear();
      forgot = true;
    }
    if (message.method === "initialize") sessions.add(`s${++count}`);
    else if (!sessions.has(session)) {
      response.writeHead(404).end("There is no such session");
      return;
    }
    const notices: object[] = [];
    const way = { send: (notice: object) => void notices.push(notice), crash: () => response.destroy() };
    const answer = await life.answer(message, way);
    if (response.destroyed) return;
    if (message.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const fresh = message.method === "initialize" ? { "mcp-session-id": `s${count}` } : {};
    const breaks = message.method === "tools/call" && life.calls() === behaviour.breakAtCall;
    write(response, { messages: [...notices, ...(answer && !breaks ? [answer] : [])], fresh, breaks });
  }

  function write(
    response: ServerResponse,
    { messages, fresh, breaks }: { messages: object[]; fresh: Record<string, string>; breaks: boolean },
  ): void {
    if (behaviour.streams || breaks) {
      response.writeHead(200, { ...fresh, "content-type": "text/event-stream" });
      // Only when the head is on its way is it the answer that breaks off.
      response.write(": so it begins\n\n", () => breaks && response.socket?.destroy());
      for (const message of messages) response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      if (messages.length > 0) response.end();
      return;
    }
    // Nothing to say: the client waits.
    if (messages.length === 0) return;
    response.writeHead(200, { ...fresh, "content-type": "application/json" });
    response.end(JSON.stringify(messages.at(-1)));
  }

  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    sessions,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
