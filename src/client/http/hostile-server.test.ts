import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ClientError } from "./client-error.ts";
import { createClient } from "./create-client.ts";
import { startServer, TOKEN } from "./http-server.test-support.ts";

it.each([301, 302, 303, 307, 308])(
  "a redirect (%i) is not followed, because it could send the token elsewhere",
  async (status) => {
    const arrived: unknown[] = [];
    const elsewhere = createServer(({ headers }, response) => {
      arrived.push(headers.authorization);
      response.end("[]");
    }).listen(0, "127.0.0.1");
    await once(elsewhere, "listening");
    onTestFinished(() => void elsewhere.close());
    const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/session`;
    const { url } = await startServer({
      "GET /session": (response) => void response.writeHead(status, { location }).end(),
    });
    await expect(createClient({ url, token: TOKEN }).sessions.list()).rejects.toBeInstanceOf(ClientError);
    expect(arrived).toEqual([]);
  },
);

const garbage = [
  "5",
  "null",
  "[]",
  "{}",
  '{"type":5}',
  '{"type":null}',
  '{"type":"__proto__"}',
  '{"type":"subagent_event"}',
  '{"type":"subagent_event","event":null}',
  '{"type":"subagent_event","sessionId":"a1","event":{"type":5}}',
  '{"type":"constructor"}',
  "{",
];
const ids = ["", "-5", "x", "1e400", "0", "NaN", " ", "1", "\u0000"];

it("events that are invalid, repeated or out of order are skipped, and the others arrive", async () => {
  const { url } = await startServer({
    "GET /session/s1/event": (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const id of ids) for (const data of garbage) response.write(`id: ${id}\ndata: ${data}\n\n`);
      for (const seq of [2, 2, 1, 3])
        response.write(`id: ${seq}\ndata: ${JSON.stringify({ type: "prompt_received", at: seq, content: [] })}\n\n`);
    },
  });
  const leaving = new AbortController();
  const seen: unknown[] = [];
  for await (const { seq } of createClient({ url, token: TOKEN })
    .sessions.open("s1")
    .events({ signal: leaving.signal })) {
    seen.push(seq);
    if (seq === 3) leaving.abort();
  }
  expect(seen).toEqual([2, 3]);
});
