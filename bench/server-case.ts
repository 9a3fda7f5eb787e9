import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { systemClock } from "../src/app/index.ts";
import type { DurableEvent } from "../src/protocol/index.ts";
import { createServer, type RunningServer } from "../src/server/index.ts";
import { createApiServer, type Reply } from "../src/testing/index.ts";
import { createTranscript, openTranscript } from "../src/transcript/index.ts";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

/** Measures the server's event streams: one fast client, and many clients that do not read. */
export async function serverCase(): Promise<Figure[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-bench-server-")));
  try {
    return [await manyEvents(root), await stuckClients(root)];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

interface Place {
  readonly home: string;
  readonly cwd: string;
}

function placeIn(root: string, name: string): Place {
  const place = { home: join(root, name, "home"), cwd: join(root, name, "work") };
  mkdirSync(place.cwd, { recursive: true });
  writeFileSync(join(place.cwd, "file.txt"), "One line.\n".repeat(1_000));
  return place;
}

function start({ home, cwd }: Place, environment: Record<string, string> = {}): Promise<RunningServer> {
  return createServer({
    home,
    environment: { PATH: process.env["PATH"], HOME: home, ...environment },
    projects: [cwd],
    port: 0,
    clock: systemClock,
    report: (message) => process.stderr.write(`${message}\n`),
    // Clients that are disconnected cost nothing, so they stay connected.
    limits: { stuckMs: 600_000 },
  });
}

const EVENTS = 20_000;
const ROUNDS = 5;

/** Reads 20,000 events from a session. The baseline is a Hono stream with the same bytes. */
async function manyEvents(root: string): Promise<Figure> {
  const place = placeIn(root, "events");
  const transcript = await createTranscript({ ...place, sessionId: "events", clock: systemClock });
  for (let count = 0; count < EVENTS; count += 1)
    await transcript.append("main", [
      { type: "notice.raised", code: "bench", message: `event ${count} `.repeat(10) } as DurableEvent,
    ]);
  await transcript.close();
  const server = await start(place);
  const headers = { Authorization: `Bearer ${server.token}` };
  const url = `${server.url}/session/events/event`;
  const texts = (await readAll(url, headers)).split("\n\n").filter((text) => text.startsWith("id: "));
  if (texts.length !== EVENTS) throw new Error(`${texts.length} events instead of ${EVENTS}`);
  const events = texts.map((text) => {
    const [id = "", data = ""] = text.split("\n");
    return { id: id.slice("id: ".length), data: data.slice("data: ".length) };
  });
  const app = new Hono();
  app.get("/", (context) =>
    streamSSE(context, async (stream) => {
      for (const event of events) await stream.writeSSE(event);
    }),
  );
  const baselineServer = createHttpServer(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  baselineServer.listen(0, "127.0.0.1");
  await once(baselineServer, "listening");
  const baselineUrl = `http://127.0.0.1:${(baselineServer.address() as AddressInfo).port}/`;
  const times = { ours: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    times.baseline.push(await timed(() => readAll(baselineUrl, {})));
    times.ours.push(await timed(() => readAll(url, headers)));
  }
  baselineServer.close();
  await server.close();
  return {
    name: "20,000 recorded events to one client, against a plain Hono stream",
    ours: median(times.ours),
    baseline: median(times.baseline),
    unit: "ms",
    limit: 2,
  };
}

async function readAll(url: string, headers: Record<string, string>): Promise<string> {
  const [response] = (await once(get(url, { headers, agent: false }), "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const STUCK = 100;
const TURNS = 150;
/** Size of the history: more than the buffers of a connection can hold. */
const HISTORY_BYTES = 16 * 1024 * 1024;

/**
 * Runs a session that 100 clients watch without reading. The baseline is the same run without them. Compares processor
 * time, because the duration of a run varies by more than the clients cost.
 */
async function stuckClients(root: string): Promise<Figure> {
  const place = placeIn(root, "stuck");
  const file = join(place.cwd, "file.txt");
  const api = await createApiServer({
    record: "light",
    script: (_request, { turn }): Reply =>
      turn === 1 || turn > TURNS
        ? { content: "Done." }
        : { content: [{ tool: "Read", input: { file_path: file, offset: turn } }] },
  });
  const environment = { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: api.url };
  const session = await sessionWithHistory(place, environment);
  const times = { ours: [] as number[], baseline: [] as number[] };
  const measure = async (round: number, clients: number): Promise<number> => {
    const home = join(root, `stuck-${round}-${clients}`);
    cpSync(place.home, home, { recursive: true });
    const server = await start({ ...place, home }, environment);
    const time = await runWith(server, { ...session, clients });
    await server.close();
    return time;
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    // The order alternates, because the later run has the warmer code and the larger heap.
    const isFirst = round % 2 === 1;
    if (isFirst) times.ours.push(await measure(round, STUCK));
    times.baseline.push(await measure(round, 0));
    if (!isFirst) times.ours.push(await measure(round, STUCK));
  }
  await api.close();
  return {
    name: `processor time of a run of ${TURNS} turns that 100 stuck clients watch, against none`,
    ours: Math.min(...times.ours),
    baseline: Math.min(...times.baseline),
    unit: "ms",
    limit: 1.05,
  };
}

interface LongSession {
  readonly sessionId: string;
  /** Number of the session's last event. */
  readonly after: number;
}

/** Creates a session whose events do not fit into the buffers of clients that do not read. */
async function sessionWithHistory(place: Place, environment: Record<string, string>): Promise<LongSession> {
  const server = await start(place, environment);
  const { id } = (await (await post(server, "/session", { prompt: "Go.", maxTurns: 9_999 })).json()) as { id: string };
  await readUntil(await openStream(server, id), '"turn_complete"');
  await server.close();
  const transcript = await openTranscript({ ...place, sessionId: id, clock: systemClock });
  const message = "word ".repeat(20_000);
  let after = 0;
  for (let size = 0; size < HISTORY_BYTES; size += message.length) {
    const [line] = await transcript.append("main", [{ type: "notice.raised", code: "bench", message }]);
    after = line?.seq ?? after;
  }
  await transcript.close();
  return { sessionId: id, after };
}

function post({ url, token }: RunningServer, path: string, body: object): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function openStream({ url, token }: RunningServer, id: string, after = 0): Promise<IncomingMessage> {
  const headers = { Authorization: `Bearer ${token}` };
  const request = get(`${url}/session/${id}/event?after=${after}`, { headers, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

async function readUntil(response: Readable, text: string): Promise<void> {
  let read = "";
  for await (const chunk of response) {
    read += String(chunk);
    if (read.includes(text)) break;
    read = read.slice(-1_000);
  }
}

async function runWith(
  server: RunningServer,
  { sessionId, after, clients }: LongSession & { readonly clients: number },
): Promise<number> {
  // The session is opened first, because clients of a session that is not open get only recorded events.
  const empty = { id: "open", type: "withdraw", promptId: "none" };
  await post(server, `/session/${sessionId}/command`, empty);
  const program = fileURLToPath(new URL("stuck-clients.mjs", import.meta.url));
  const stuck = spawn(process.execPath, [program, String(clients), server.url, server.token, sessionId], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await readUntil(stuck.stdout, `${clients} connected`);
  await settled();
  const reader = await openStream(server, sessionId, after);
  const before = process.cpuUsage();
  await post(server, `/session/${sessionId}/message`, { prompt: "Go." });
  await readUntil(reader, '"turn_complete"');
  const { user, system } = process.cpuUsage(before);
  stuck.kill();
  return (user + system) / 1_000;
}

/**
 * Waits until this process has nothing to do. By then, the buffers of the stuck clients' connections are full. A fixed
 * time would be too short on a busy machine, and the remaining work would be counted as part of the run. Garbage is
 * collected for the same reason.
 */
async function settled(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  for (let quiet = 0; quiet < 3; ) {
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { user, system } = process.cpuUsage(before);
    quiet = user + system < 25_000 ? quiet + 1 : 0;
  }
  collectGarbage();
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return performance.now() - startedAt;
}
