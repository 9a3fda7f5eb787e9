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
])("the server closes the connection to a worker that sends %j, and keeps running", async (message) => {
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
  ledger: "l",
  instance: "i",
  connection: 1,
  facts: { root: "/w", platform: "linux" },
  sessions: [],
};

it.each([
  { name: ["box"] },
  { ledger: 5 },
  { name: 5 },
  { name: null },
  { name: "" },
  { facts: { root: { toString: 1 }, platform: "linux" } },
  { facts: { root: "", platform: "linux" } },
  { facts: { root: "the", platform: "linux" } },
  { facts: { root: "/w", platform: "linux\u001b[2J" } },
  { version: "1\u0007" },
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

it("the server explains why it rejects a worker's name", async () => {
  const server = await startServer();
  expect(await introduce(await connect(server.port), { name: "../x" })).toMatchObject({
    error: { message: 'A worker can\'t be named "../x"', data: { fix: expect.stringContaining("letters, digits") } },
  });
  expect(server.hub.workers()).toEqual([]);
});

async function introduce(socket: WebSocket, part: object = {}): Promise<object> {
  const answered = once(socket, "message");
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hello", params: { ...hello, ...part } }));
  const [answer] = await answered;
  return JSON.parse(String(answer));
}

it.each([
  ["another machine", { machine: "other", ledger: "other", instance: "other" }],
  ["another state directory", { ledger: "other", instance: "other" }],
])("the server keeps a worker if another one with the same name and directory connects from %s", async (_, part) => {
  const server = await startServer();
  expect(await introduce(await connect(server.port))).toMatchObject({ result: { protocol: 1 } });
  const refused = await introduce(await connect(server.port), part);
  expect(refused).toMatchObject({
    error: {
      message: expect.stringContaining('A worker named "box" is already connected for /w, from another'),
      code: 1,
    },
  });
  expect(server.hub.workers()).toMatchObject([{ name: "box", state: "connected", instance: "i" }]);
  expect(await introduce(await connect(server.port), { instance: "restarted" })).toMatchObject({
    result: { protocol: 1 },
  });
  expect(server.hub.workers()).toMatchObject([{ name: "box", state: "connected", instance: "restarted" }]);
});

it.each([
  [
    "a user error",
    { code: 1, message: "\u001b[31mred\u0007", data: { code: "x\u001b[1m", fix: "\u009b2Jdo", exitCode: "y" } },
    "red",
  ],
  ["another kind", { code: 2, message: "\u001b]0;title\u0007plain\r\u001b[2K" }, "plain"],
  ["without data", { code: 1, message: "no data" }, "no data"],
  ["with a long text", { code: 1, message: "x".repeat(100_000) }, "xxx"],
])(
  "an error from a worker (%s) is shown without control characters and with a limited length",
  async (_, error, text) => {
    const server = await startServer();
    const socket = await connect(server.port);
    await introduce(socket);
    socket.on("message", (data) => {
      const { id } = JSON.parse(String(data));
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });
    const [worker] = server.hub.workers();
    const failure = await worker?.settings({ trust: false }).catch((reason: unknown) => reason);
    const shown = JSON.stringify([String(failure), { ...(failure as object) }]);
    expect(shown).toContain(text);
    expect(shown).not.toMatch(/\\u00|\p{Cc}/u);
    expect(shown.length).toBeLessThan(10_000);
  },
);
