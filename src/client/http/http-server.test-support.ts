import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { type Problem, type SessionUpdate, toWire } from "../../protocol/index.ts";

export interface TestServer {
  readonly url: string;
  /** Requests so far, such as `GET /session`, each with its body and the position after which a stream continues. */
  readonly requests: readonly ReceivedRequest[];
  close(): Promise<void>;
}

export interface ReceivedRequest {
  readonly line: string;
  readonly body: unknown;
  readonly after: string | undefined;
}

export const TOKEN = "token-of-the-test";

/** Answers a request. `count` is the number of earlier requests with the same method and path. */
export type Answer = (response: ServerResponse, received: ReceivedRequest, count: number) => void | Promise<void>;

/**
 * Starts a real server, on the loopback interface, that requires the token and sends the responses that the test
 * defines.
 */
export async function startServer(answers: Readonly<Record<string, Answer>>, port = 0): Promise<TestServer> {
  const requests: ReceivedRequest[] = [];
  const server = createServer((incoming, response) => void handle(incoming, response));
  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
    const text = Buffer.concat(chunks).toString();
    const line = `${incoming.method} ${incoming.url}`;
    const after = incoming.headers["last-event-id"] as string | undefined;
    const count = requests.filter((each) => each.line === line).length;
    const received = { line, body: text === "" ? undefined : (JSON.parse(text) as unknown), after };
    requests.push(received);
    if (incoming.headers.authorization !== `Bearer ${TOKEN}`)
      return problem(response, { status: 401, code: "unauthorized", detail: "The token is not valid." });
    const answer = answers[line];
    if (answer === undefined)
      return problem(response, { status: 404, code: "not_found", detail: `There is no ${line}.` });
    await answer(response, received, count);
  }
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
  const close = () =>
    new Promise<void>((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, close };
}

export function problem(response: ServerResponse, { status, code, detail }: Problem): void {
  response.writeHead(status, { "content-type": "application/problem+json" });
  response.end(JSON.stringify({ status, code, detail }));
}

export function sendJson(value: unknown, status = 200): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
}

/** Returns an event's text in the form that the server sends. */
export function eventText(event: object, id?: number): string {
  return `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;
}

export function updateText(update: SessionUpdate): string {
  return eventText(toWire(update, { agentType: "Explore", path: ["a1"] }), update.seq);
}
