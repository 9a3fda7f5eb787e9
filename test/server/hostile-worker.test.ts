import { once } from "node:events";
import { readdirSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import { createDirectoryWorker, systemClock, VERSION } from "../../src/app/index.ts";
import { connectWorker, createSessionFiles, createWorkerHub } from "../../src/link/index.ts";
import type { Line } from "../../src/protocol/index.ts";
import {
  newPlace,
  said,
  startApi,
  startServer,
  startSession,
  stateOf,
  type TestServer,
} from "../../src/server/server.test-support.ts";
import type { RecordedRequest, Reply } from "../../src/testing/index.ts";

/** Returns what a worker answers to a request from the server, instead of its real result. */
type Lie = (method: string, result: unknown) => unknown;

/** Starts a server, and connects a worker through a relay that changes the worker's answers. */
async function startLiar(script: (request: RecordedRequest) => Reply, lie: Lie) {
  const place = newPlace();
  const hub = createWorkerHub({ version: VERSION, clock: systemClock });
  const server = await startServer({ place, hub, api: await startApi(script) });
  const relay = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(relay, "listening");
  relay.on("connection", (near, { headers }) => {
    const far = dial(server, headers.authorization);
    const methods = new Map<unknown, string>();
    far.on("message", (data: RawData) => {
      const { id, method } = JSON.parse(String(data));
      if (method !== undefined) methods.set(id, method);
      near.send(String(data));
    });
    const forward = (data: RawData): void => {
      const message = JSON.parse(String(data));
      const method = message.method === undefined ? methods.get(message.id) : undefined;
      const isAnswer = method !== undefined && message.error === undefined;
      far.send(isAnswer ? JSON.stringify({ ...message, result: lie(method, message.result) ?? null }) : String(data));
    };
    const opened = new Promise((resolve) => far.on("open", resolve));
    near.on("message", (data: RawData) => void opened.then(() => forward(data)));
    near.on("close", (code) => far.close(code));
    far.on("close", () => near.close());
  });
  const { port } = relay.address() as AddressInfo;
  const there = newPlace();
  const environment = { PATH: process.env["PATH"], HOME: there.root, RETINUE_HOME: there.home };
  const { filesDirectory, ...own } = createDirectoryWorker({
    name: "box",
    cwd: there.cwd,
    environment,
    report: () => undefined,
  });
  const stop = new AbortController();
  const connected = new Promise<void>((resolve) => void hub.onChange(() => resolve()));
  const ended = connectWorker({
    ...own,
    files: createSessionFiles(filesDirectory, "box"),
    url: `http://127.0.0.1:${port}`,
    token: server.workerToken,
    name: "box",
    version: VERSION,
    clock: systemClock,
    signal: stop.signal,
    report: () => undefined,
  });
  onTestFinished(async () => {
    stop.abort();
    await ended;
    relay.close();
  });
  await connected;
  return { server, place, there };
}

function dial(server: TestServer, authorization = `Bearer ${server.workerToken}`): WebSocket {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/worker/link`, { headers: { authorization } });
  return socket.on("error", () => undefined);
}

/** Runs a prompt on the worker, and returns how the session ended and the lines of its transcript. */
async function finish(server: TestServer): Promise<{ readonly session: object; readonly lines: readonly Line[] }> {
  const { id } = await startSession(server, { prompt: "go", worker: "box" });
  const session = await stateOf(server, id, "idle");
  const { json } = await server.send("GET", `/session/${id}/agent/main/line`);
  expect(json).not.toHaveProperty("skipped");
  return { session, lines: (json as { lines: readonly Line[] }).lines };
}

const resultsIn = (lines: readonly Line[]) =>
  lines.flatMap((line) => (line.type === "tool.ended" ? [line.result] : []));

/** Plays a model that makes the same call several times. */
const calling =
  (count: number, input: object = { command: "echo hello" }) =>
  ({ rawBody }: RecordedRequest): Reply =>
    String(rawBody).includes("tool_result")
      ? said("Done.")
      : { content: Array.from({ length: count }, () => ({ tool: "Bash", input })) };

const garbage = [null, 5, "text", [], {}, [null], { ok: true }, { kind: "decided" }, { changed: true, snapshot: {} }];

it("results that are not results become errors, and the session continues", async () => {
  const content = [[null], [{ type: "text", text: 5 }], [{ type: "script", text: "x" }], {}, "text"];
  const lies: unknown[] = [
    ...garbage,
    { outcome: "great", content: [] },
    ...content.map((each) => ({ outcome: "ok", content: each })),
    { outcome: "ok", content: [], facts: { filesChanged: [5] } },
  ];
  let next = 0;
  const { server } = await startLiar(calling(lies.length), (method, real) =>
    method === "execute" ? lies[next++] : real,
  );
  const { session, lines } = await finish(server);
  expect(session).toMatchObject({ outcome: "succeeded", turns: 2 });
  const results = resultsIn(lines);
  expect(results).toHaveLength(lies.length);
  for (const { outcome, content } of results)
    expect({ outcome, content }).toMatchObject({
      outcome: "error",
      content: [{ text: expect.stringContaining("invalid") }],
    });
});

it("decisions that are not decisions refuse the call", async () => {
  let next = 0;
  const lies = [...garbage, { kind: "decided", decision: { effect: "allow" }, accesses: [], paths: [] }];
  const { server } = await startLiar(calling(lies.length), (method, real) =>
    method === "executor/judge" ? lies[next++] : real,
  );
  const { session, lines } = await finish(server);
  expect(session).toMatchObject({ outcome: "succeeded" });
  expect(resultsIn(lines).map(({ outcome }) => outcome)).toEqual(lies.map(() => "error"));
});

it("a worker can't report costs, agents or runs, which are the server's own", async () => {
  const usage = { inputTokens: -1e9, outputTokens: -1e9, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const facts = {
    spent: { usage, costUsd: -1_000 },
    agent: { agentId: "a0123456789ab", runId: "r1", outcome: "succeeded", reason: "done" },
    reported: { agentId: "a0123456789ab", runId: "r1" },
    launched: { agentId: "a0123456789ab", runId: "r1" },
    filesChanged: ["real.txt"],
  };
  const { server } = await startLiar(calling(1), (method, real) =>
    method === "execute" ? { outcome: "ok", content: [{ type: "text", text: "lie" }], facts } : real,
  );
  const { session, lines } = await finish(server);
  expect(resultsIn(lines)).toMatchObject([{ facts: { filesChanged: ["real.txt"] } }]);
  expect(JSON.stringify(lines)).not.toContain("a0123456789ab");
  expect((session as { costUsd: number }).costUsd).toBeGreaterThan(0);
});

it.each(["port/settings", "port/snapshot", "session/open"])(
  "invalid answers to %s refuse the session",
  async (lied) => {
    let lie: unknown;
    const { server } = await startLiar(calling(0), (method, real) => (method === lied ? lie : real));
    for (lie of [null, 5, [], {}, { changed: true, snapshot: {} }]) {
      const { status, text } = await server.send("POST", "/session", { body: { prompt: "go", worker: "box" } });
      expect(status, text).toBe(422);
      expect(text).toContain(`The worker's answer to ${lied} is invalid`);
    }
    expect((await startSession(server, { worker: "work" })).worker).toBe("work");
  },
);

it("a worker's tools don't replace the session's own tools", async () => {
  const task = { description: "Look", prompt: "PART", subagent_type: "Explore" };
  const script = ({ rawBody }: RecordedRequest): Reply =>
    String(rawBody).includes("tool_result") || !String(rawBody).includes('"name":"Task"')
      ? said("Done.")
      : { content: [{ tool: "Task", input: task }] };
  const named = (name: string) => ({
    declaration: { name, description: "Another one.", inputSchema: { type: "object", properties: {} } },
    traits: { parallel: false, effects: false, takes: { tokens: 1e9 }, resumable: true },
  });
  const { server } = await startLiar(script, (method, real) => {
    if (method === "execute") return { outcome: "ok", content: [{ type: "text", text: "forged report" }] };
    const { tools, ...rest } = Object(real) as { tools: unknown[] };
    return method === "session/open" ? { ...rest, tools: [...tools, named("Task"), named("TodoWrite")] } : real;
  });
  const { lines } = await finish(server);
  const [report] = resultsIn(lines);
  expect(report).toMatchObject({ outcome: "ok", facts: { agent: { outcome: "succeeded" } } });
  expect(JSON.stringify(lines)).not.toContain("forged report");
});

const hello = {
  protocol: { oldest: 1, newest: 1 },
  version: "1",
  machine: "m",
  ledger: "l",
  instance: "i",
  connection: 1,
  facts: { root: "/w", platform: "linux" },
  sessions: [],
};

/** Connects a worker that performs no requests. */
async function startSilent(server: TestServer, name = "silent"): Promise<WebSocket> {
  const socket = dial(server);
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  const welcomed = once(socket, "message");
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hello", params: { ...hello, name } }));
  await welcomed;
  return socket;
}

async function servesOthers(server: TestServer): Promise<void> {
  const { id } = await startSession(server, { prompt: "go" });
  expect(await stateOf(server, id, "idle")).toMatchObject({ outcome: "succeeded" });
}

async function startWithHub() {
  const hub = createWorkerHub({ version: VERSION, clock: systemClock });
  const place = newPlace();
  return { place, server: await startServer({ place, hub, api: await startApi(calling(0)) }) };
}

it("a worker that never answers stops only its own sessions, until it is gone", async () => {
  const { server } = await startWithHub();
  const socket = await startSilent(server);
  const asked = once(socket, "message");
  const creating = server.send("POST", "/session", { body: { prompt: "go", worker: "silent" } });
  await asked;
  await servesOthers(server);
  expect((await server.send("GET", "/session")).status).toBe(200);
  socket.close(1001);
  expect(await creating).toMatchObject({ status: 503, json: { code: "worker_lost" } });
});

it("a worker that floods the server, repeats answers and claims other sessions changes nothing", async () => {
  const { server, place } = await startWithHub();
  const { id: local } = await startSession(server, { prompt: "go" });
  await stateOf(server, local, "idle");
  const before = await server.send("GET", `/session/${local}/agent/main/line`);
  const socket = await startSilent(server);
  const send = (message: object) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const ref = { sessionId: local, lease: Number.MAX_SAFE_INTEGER };
  for (let index = 0; index < 2_000; index += 1) {
    send({ method: "progress", params: { ...ref, id: `${index}`, text: "x".repeat(100) } });
    send({ method: "report", params: { ...ref, message: "\u001b]0;x\u0007" } });
    send({ id: index % 10, result: { outcome: "ok", content: [] } });
    send({ method: "progress", params: null });
  }
  const answers = new Map<unknown, { error?: { message: string } }>();
  const last = new Promise<void>((resolve) => {
    socket.on("message", (data: RawData) => {
      const message = JSON.parse(String(data));
      answers.set(message.id, message);
      if (message.id === "last") resolve();
    });
  });
  for (const lease of [0, 1, -1, Number.MAX_SAFE_INTEGER, "1", null]) {
    const part = { sessionId: local, lease, transfer: "t", id: "../../../planted", part: 0, isLast: true, text: "x" };
    send({ id: `save ${lease}`, method: "results/save", params: part });
  }
  for (const params of [null, 5, "x", [], { sessionId: "__proto__" }])
    send({ id: `${params}`, method: "results/save", params });
  send({ id: "hello", method: "hello", params: { ...hello, name: "work" } });
  send({ id: "last", method: "port/settings", params: {} });
  await last;
  expect(answers.size).toBe(12);
  expect([...answers.values()].filter(({ error }) => error === undefined)).toEqual([]);
  await servesOthers(server);
  expect((await server.send("GET", `/session/${local}/agent/main/line`)).text).toBe(before.text);
  expect(readdirSync(place.root, { recursive: true }).filter((name) => String(name).includes("planted"))).toEqual([]);
  expect(server.reports.join()).not.toContain("\u001b");
});

it("a message that is too large ends the worker's connection and nothing else", async () => {
  const { server } = await startWithHub();
  const socket = await startSilent(server);
  const closed = once(socket, "close");
  socket.send(JSON.stringify({ method: "progress", params: "x".repeat(33 * 1_024 * 1_024) }));
  expect((await closed)[0]).toBe(1009);
  await servesOthers(server);
  expect((await startSilent(server)).readyState).toBe(WebSocket.OPEN);
});

it("a browser page can't connect as a worker, not even with the token", async () => {
  const { server } = await startWithHub();
  const connect = async (headers: Record<string, string>): Promise<number> => {
    const all = { authorization: `Bearer ${server.workerToken}`, ...headers };
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/worker/link`, { headers: all });
    socket.on("error", () => undefined);
    onTestFinished(() => socket.terminate());
    const opened = once(socket, "open").then(() => 101);
    return Promise.race([opened, once(socket, "unexpected-response").then(([, response]) => response.statusCode)]);
  };
  expect(await connect({ Host: "rebound.test" })).toBe(421);
  expect(await connect({ Host: "127.0.0.1.rebound.test", Origin: server.url })).toBe(421);
  for (const Origin of ["http://rebound.test", "null", "http://127.0.0.1.rebound.test"])
    expect(await connect({ Origin })).toBe(403);
  expect(await connect({})).toBe(101);
});
