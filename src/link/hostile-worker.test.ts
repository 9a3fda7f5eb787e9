import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { startServer } from "./link.test-support.ts";

async function connect(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/worker/link`, { headers: { Authorization: "Bearer secret" } });
  socket.on("error", () => undefined);
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  return socket;
}

it.each([
  { jsonrpc: "2.0", method: "$/cancelRequest", params: null },
  { jsonrpc: "2.0", method: "$/cancelRequest" },
  { jsonrpc: "2.0", method: "$/progress", params: null },
  { jsonrpc: "2.0", method: "$/setTrace", params: 5 },
])("the server closes the connection of a worker that sends %j, and goes on", async (message) => {
  const server = await startServer();
  const socket = await connect(server.port);
  const closed = once(socket, "close");
  socket.send(JSON.stringify(message));
  expect((await closed)[0]).toBe(1008);
  expect((await connect(server.port)).readyState).toBe(WebSocket.OPEN);
});

const hello = {
  protocol: { oldest: 1, newest: 1 },
  version: "1",
  name: "box",
  machine: "m",
  instance: "i",
  connection: 1,
  facts: { root: "/w", platform: "linux" },
  sessions: [],
};

it.each([
  { name: ["box"] },
  { name: 5 },
  { name: null },
  { name: "../x" },
  { name: "" },
  { facts: { root: { toString: 1 }, platform: "linux" } },
  { facts: { root: "", platform: "linux" } },
  { sessions: [null] },
  { sessions: [{ sessionId: ["s"], lease: 1 }] },
])("the server refuses a worker that introduces itself with %j", async (part) => {
  const server = await startServer();
  const socket = await connect(server.port);
  const answered = once(socket, "message");
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hello", params: { ...hello, ...part } }));
  const [answer] = await answered;
  expect(JSON.parse(String(answer))).toMatchObject({ error: { message: expect.stringContaining("can't work with") } });
  expect(server.hub.workers()).toEqual([]);
});
