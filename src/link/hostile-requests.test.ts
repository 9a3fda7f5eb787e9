import { once } from "node:events";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { createDirectoryWorker } from "../app/index.ts";
import { createSessionFiles } from "./index.ts";
import { everything, newPlace, startWorker, type TestPlace } from "./link.test-support.ts";
import { environmentMethods, executorMethods, portMethods, sessionMethods } from "./protocol.ts";

interface Attacked {
  readonly at: TestPlace;
  /** Directories of the worker's own files. */
  readonly files: string;
  readonly ledgers: string;
  /** Resolves with the worker's next connection, after the server has greeted it. */
  next(): Promise<Peer>;
}

/** The server's end of a connection. */
interface Peer {
  readonly socket: WebSocket;
  /** Sends a request, and resolves with the worker's answer. */
  ask(method: string, params: unknown): Promise<{ readonly result?: unknown; readonly error?: { message: string } }>;
}

/** Starts a server that sends whatever a test wants, and a worker that connects to it. */
async function attack(welcome: unknown = { protocol: 1, closed: [] }): Promise<Attacked> {
  const at = newPlace();
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const waiting: ((peer: Peer) => void)[] = [];
  const ready: Peer[] = [];
  server.on("connection", (socket) => {
    const peer = peerOf(socket);
    socket.once("message", (data: RawData) => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(String(data)).id, result: welcome }));
      const wake = waiting.shift();
      if (wake === undefined) ready.push(peer);
      else wake(peer);
    });
  });
  const environment = { PATH: process.env["PATH"], HOME: at.home, RETINUE_HOME: at.home };
  const own = createDirectoryWorker({ name: "box", cwd: at.root, environment, report: () => undefined });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  startWorker({ at, url, ...own, files: createSessionFiles(own.filesDirectory, "box") });
  const next = () => {
    const peer = ready.shift();
    return peer === undefined ? new Promise<Peer>((resolve) => void waiting.push(resolve)) : Promise.resolve(peer);
  };
  return { at, next, files: own.filesDirectory, ledgers: own.ledgerDirectory };
}

function peerOf(socket: WebSocket): Peer {
  const answers = new Map<unknown, (answer: never) => void>();
  socket.on("error", () => undefined);
  socket.on("message", (data: RawData) => {
    const { id, ...answer } = JSON.parse(String(data));
    answers.get(id)?.(answer as never);
  });
  let count = 0;
  const ask: Peer["ask"] = (method, params) =>
    new Promise((resolve) => {
      count += 1;
      answers.set(`q${count}`, resolve);
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: `q${count}`, method, params }));
    });
  return { socket, ask };
}

const sandbox = { mode: "off" };
const options = { since: 0, sandbox, passedVariables: [], trusted: true };
const openedAt = (peer: Peer, sessionId = "s1") =>
  peer.ask("session/open", { sessionId, lease: 1, options: { ...options, sessionId } });

const methods = [
  "",
  "hello",
  "__proto__",
  "session/__proto__",
  "executor/constructor",
  "port/open",
  "execute",
  "recall",
  "session/open",
  "session/close",
  "session/forget",
  ...portMethods.map((name) => `port/${name}`),
  ...sessionMethods.map((name) => `session/${name}`),
  ...environmentMethods.map((name) => `environment/${name}`),
  ...executorMethods.map((name) => `executor/${name}`),
];

it("a worker answers every request, whatever its parameters are", async () => {
  const { next } = await attack();
  const peer = await next();
  await openedAt(peer);
  const ref = { sessionId: "s1", lease: 1 };
  const executor = { id: "e", root: 5 };
  const garbage: unknown[] = [undefined, null, 5, "text", [], {}, ref, { ...ref, argument: null, id: 5 }];
  garbage.push({ ...ref, executor, arguments: [] }, { ...ref, executor: null, arguments: 5, request: null });
  garbage.push({ ...ref, acknowledged: 5 }, { ...ref, acknowledged: [null], id: {}, argument: [] });
  const asked = methods.flatMap((method) => garbage.map((each) => peer.ask(method, each)));
  expect(await Promise.all(asked)).toHaveLength(methods.length * garbage.length);
  expect(await peer.ask("port/settings", { argument: { trust: false } })).toMatchObject({ result: { problems: [] } });
});

const path = fc.constantFrom("../x", "../../x", "/x", "a/../../x", "x\0", "..", ".", "", "__proto__", "x".repeat(300));
const id = fc.oneof(path, fc.stringMatching(/^[\w-]{1,20}$/), fc.constant(5));

it("ids from a server never lead to files outside the worker's own directories", async () => {
  const { at, next, files, ledgers } = await attack();
  const peer = await next();
  await openedAt(peer);
  const top = dirname(at.root);
  // The id "../x" would be the name of this ledger, which must be neither read, changed nor deleted.
  writeFileSync(join(ledgers, "..", "x.jsonl"), "");
  const isOwn = (name: string) =>
    [`${ledgers}/`, join(files, "box@"), join(at.root, "made.txt")].some((own) => name.startsWith(own));
  const outside = () =>
    readdirSync(top, { recursive: true })
      .map((name) => join(top, String(name)))
      .concat(readdirSync(dirname(top)).filter((name) => /^x(\.|$)/.test(name)))
      .filter((name) => !isOwn(name));
  const before = outside();
  await fc.assert(
    fc.asyncProperty(id, id, id, async (sessionId, agentId, callId) => {
      const ref = { sessionId: "s1", lease: 1 };
      const call = { callId, name: "Write", inputJson: JSON.stringify({ file_path: "made.txt", content: "x" }) };
      const request = { agentId, call, policy: everything };
      const memory = { scope: "project", agent: agentId };
      await Promise.all([
        peer.ask("session/open", { sessionId, lease: 1, options: { ...options, sessionId, directory: `${top}/x` } }),
        peer.ask("session/forget", { sessionId }),
        peer.ask("session/close", { sessionId, lease: 1 }),
        peer.ask("recall", { sessionId, call }),
        peer.ask("port/sweep", { argument: sessionId }),
        peer.ask("port/openMemory", { argument: memory }),
        peer.ask("execute", { ...ref, id: callId, executor: { id: agentId, root: at.root }, request }),
        peer.ask("executor/release", { ...ref, executor: { id: agentId, root: at.root }, arguments: [agentId] }),
        peer.ask("session/openWorktree", { ...ref, id: `w${callId}`, argument: { agentId, cwd: at.root, now: 0 } }),
        peer.ask("session/leaveWorktree", { ...ref, id: `l${callId}`, argument: agentId }),
      ]);
      expect(outside()).toEqual(before);
    }),
    { numRuns: 60 },
  );
  expect(readdirSync(at.root)).toEqual(["made.txt"]);
});

it("a call that a server repeats under the same id is performed once, and a session's lease never goes back", async () => {
  const { at, next } = await attack();
  const peer = await next();
  await openedAt(peer);
  const call = { callId: "c1", name: "Bash", inputJson: JSON.stringify({ command: "echo x >> effects" }) };
  const executor = { id: "e", root: at.root };
  const request = {
    sessionId: "s1",
    lease: 1,
    id: "1",
    executor,
    request: { agentId: "main", call, policy: everything },
  };
  const first = await peer.ask("execute", request);
  expect(first).toMatchObject({ result: { outcome: "ok" } });
  expect(await Promise.all([1, 2, 3].map(() => peer.ask("execute", request)))).toEqual([first, first, first]);
  expect(statSync(join(at.root, "effects")).size).toBe(2);
  for (const lease of [0, -1, 2, Number.MAX_SAFE_INTEGER, null])
    expect(await peer.ask("execute", { ...request, lease, id: `other ${lease}` })).toHaveProperty("error");
  expect(statSync(join(at.root, "effects")).size).toBe(2);
});

it("a worker that gets thousands of requests at once answers all of them", async () => {
  const { next } = await attack();
  const peer = await next();
  await openedAt(peer);
  const asked = Array.from({ length: 3_000 }, (_, index) =>
    peer.ask(index % 2 === 0 ? "environment/commands" : "recall", {
      sessionId: "s1",
      lease: 1,
      call: { callId: `${index}` },
    }),
  );
  for (let index = 0; index < 3_000; index += 1)
    peer.socket.send(JSON.stringify({ jsonrpc: "2.0", id: index, result: "an answer to nothing" }));
  expect((await Promise.all(asked)).every(({ error }) => error === undefined)).toBe(true);
});

it.each<[string, string | Buffer]>([
  ["is not JSON", "{"],
  ["is not an object", "5"],
  ["is binary", Buffer.from("{}")],
  ["is too large", JSON.stringify({ method: "note", params: "x".repeat(33 * 1_024 * 1_024) })],
])("a worker drops a connection whose message %s, and connects again", async (_, message) => {
  const { next } = await attack();
  const peer = await next();
  const closed = once(peer.socket, "close");
  peer.socket.send(message);
  await closed;
  const again = await next();
  expect(await openedAt(again)).toHaveProperty("result");
});

it.each([
  null,
  5,
  {},
  { protocol: 1 },
  { protocol: 1, closed: 5 },
  { protocol: 1, closed: [null, 5, { sessionId: "../x" }] },
])("a worker survives the welcome %j", async (welcome) => {
  const { next } = await attack(welcome);
  const peer = await next();
  if (peer.socket.readyState === peer.socket.OPEN && Array.isArray((welcome as { closed?: unknown } | null)?.closed))
    expect(await openedAt(peer)).toHaveProperty("result");
  else expect(await next()).toHaveProperty("socket");
});

it("a worker does not follow a redirect, which could send its token elsewhere", async () => {
  const asked: unknown[] = [];
  const elsewhere = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.end();
  });
  elsewhere.on("upgrade", (request, socket) => {
    asked.push(request.headers.authorization);
    socket.destroy();
  });
  elsewhere.listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/worker/link`;
  const server = createServer();
  const seen: string[] = [];
  const twice = new Promise<void>((resolve) => {
    server.on("upgrade", (request, socket) => {
      socket.on("error", () => undefined);
      seen.push(String(request.headers.authorization));
      socket.end(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nConnection: close\r\n\r\n`);
      if (seen.length === 2) resolve();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    elsewhere.close();
  });
  const at = newPlace();
  writeFileSync(join(at.root, "a"), "");
  startWorker({ at, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  await twice;
  expect(seen).toEqual(["Bearer secret", "Bearer secret"]);
  expect(asked).toEqual([]);
  expect(existsSync(join(at.root, "a"))).toBe(true);
});
