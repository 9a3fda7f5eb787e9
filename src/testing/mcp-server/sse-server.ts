import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpLife, type McpMessage } from "./answer-message.ts";
import type { McpBehaviour } from "./behaviour.ts";

/** An MCP server on loopback in the older way: one stream of events for all answers, requests by POST. */
export async function startMcpSseServer(
  behaviour: McpBehaviour = {},
): Promise<{ url: string; close(): Promise<void> }> {
  const life = createMcpLife(behaviour);
  let stream: ServerResponse | undefined;
  const send = (message: object) => void stream?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  const crash = () => void stream?.destroy();

  const server = createServer((request, response) => {
    if (request.method === "GET") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      stream.write("event: endpoint\ndata: /messages\n\n");
      return;
    }
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      response.writeHead(202).end();
      void life.answer(JSON.parse(body) as McpMessage, { send, crash }).then((answer) => answer && send(answer));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
