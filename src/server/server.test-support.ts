import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../app/index.ts";
import { fromWire, type SessionInfo, type SessionUpdate, type WireUpdate } from "../protocol/index.ts";
import { type ApiServer, createApiServer, type Reply, type Script } from "../testing/index.ts";
import { sandboxSetting } from "../testing/sandbox-setting.test-support.ts";
import { createServer, type RunningServer, type ServerOptions } from "./index.ts";

export interface ServerPlace {
  readonly root: string;
  readonly home: string;
  readonly cwd: string;
}

/** Creates a workspace and a state directory. */
export function newPlace(): ServerPlace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-server-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "notes.txt"), "alpha\nbeta\n");
  const home = join(root, "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "settings.json"), JSON.stringify({ sandbox: sandboxSetting }));
  return { root, home, cwd };
}

export async function startApi(script: Script): Promise<ApiServer> {
  const api = await createApiServer({ script });
  onTestFinished(() => api.close());
  return api;
}

export interface TestServer extends RunningServer {
  readonly reports: readonly string[];
  /** Sends a request with the token, unless the headers have another one. */
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
  /** Connects to a stream of events. */
  stream(path: string, headers?: Record<string, string>): TestStream;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON unless it is a string. */
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  readonly json: never;
}

export type StartOptions = Partial<ServerOptions> & { readonly place?: ServerPlace; readonly api?: ApiServer };

export async function startServer({ place = newPlace(), api, ...options }: StartOptions = {}): Promise<TestServer> {
  const reports: string[] = [];
  const server = await createServer({
    home: place.home,
    environment: environmentFor(place, api),
    projects: [place.cwd],
    port: 0,
    clock: systemClock,
    report: (message) => reports.push(message),
    ...options,
  });
  onTestFinished(() => server.close());
  const bearer = { Authorization: `Bearer ${server.token}` };
  return {
    ...server,
    reports,
    send: (method, path, { headers, body } = {}) =>
      sendTo(server.url, { method, path, headers: { ...bearer, ...headers }, body }),
    stream: (path, headers) => openTestStream(server.url, path, { ...bearer, ...headers }),
  };
}

export function environmentFor({ root }: ServerPlace, api: ApiServer | undefined): Record<string, string | undefined> {
  const key = api === undefined ? {} : { ANTHROPIC_API_KEY: "key-of-the-test", ANTHROPIC_BASE_URL: api.url };
  return { PATH: process.env["PATH"], HOME: root, ...key };
}

/** Sends a request exactly as given. */
export function sendTo(
  url: string,
  { method, path, headers = {}, body }: SendOptions & { readonly method: string; readonly path: string },
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, method, path, headers: { ...type, ...headers }, agent: false });
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        // An event stream does not end by itself, so stop after its first events.
        if (response.headers["content-type"]?.startsWith("text/event-stream")) response.destroy();
      });
      response.on("close", () => {
        const answer = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: answer,
          get json() {
            return JSON.parse(answer) as never;
          },
        });
      });
    });
    request.on("error", reject);
    request.end(text);
  });
}

/** Sends bytes, and returns what the server sends until the connection is closed. */
export async function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  socket.on("error", () => {});
  socket.write(text);
  await once(socket, "close");
  return received;
}

export interface StreamedEvent {
  readonly id: number | undefined;
  readonly data: Record<string, unknown> & { readonly type: string };
}

export interface TestStream {
  readonly events: readonly StreamedEvent[];
  readonly comments: readonly string[];
  /** Settles when the stream has ended. Never rejects. */
  readonly ended: Promise<void>;
  /** Number of the last durable event. */
  readonly cursor: () => number;
  until(isWanted: (event: StreamedEvent) => boolean): Promise<StreamedEvent>;
  close(): void;
}

/** Reads an event stream. */
export function openTestStream(url: string, path: string, headers: Record<string, string>): TestStream {
  const events: StreamedEvent[] = [];
  const comments: string[] = [];
  const waiting = new Set<() => void>();
  const { hostname, port } = new URL(url);
  const request = httpRequest({ hostname, port, path, headers, agent: false });
  let rest = "";
  let isOver = false;
  const wake = (): void => {
    for (const each of [...waiting]) each();
  };
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      isOver = true;
      wake();
      resolve();
    };
    request.on("error", end);
    request.on("response", (response) => {
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        const parts = (rest + text).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) read(part);
        wake();
      });
      response.on("error", () => {});
      response.on("close", end);
    });
  });

  function read(part: string): void {
    const lines = part.split("\n");
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const data = field("data");
    const id = field("id");
    if (data === undefined) comments.push(part);
    else events.push({ id: id === undefined ? undefined : Number(id), data: JSON.parse(data) });
  }

  request.end();
  onTestFinished(() => void request.destroy());
  return {
    events,
    comments,
    ended,
    cursor: () => events.findLast(({ id }) => id !== undefined)?.id ?? 0,
    async until(isWanted) {
      for (;;) {
        const found = events.find(isWanted);
        if (found !== undefined) return found;
        if (isOver)
          throw new Error(`The stream has ended: ${rest}${JSON.stringify(events.map(({ data }) => data.type))}`);
        await new Promise<void>((resolve) => {
          const done = (): void => {
            waiting.delete(done);
            resolve();
          };
          waiting.add(done);
        });
      }
    },
    close: () => void request.destroy(),
  };
}

/** Returns an event as it is in the transcript. */
export function updateOf({ data }: StreamedEvent): SessionUpdate | undefined {
  return fromWire(data as unknown as WireUpdate);
}

/** Starts a session. Returns the server's response. */
export async function startSession(server: TestServer, body: object = {}): Promise<SessionInfo> {
  const { status, json, text } = await server.send("POST", "/session", { body });
  if (status !== 201) throw new Error(text);
  return json;
}

export const said = (content: Reply["content"]): Reply => ({ content });

/** Waits until a session has this state. */
export async function stateOf(server: TestServer, id: string, state: SessionInfo["state"]): Promise<SessionInfo> {
  const stream = server.stream("/event");
  const sessionsIn = ({ data }: StreamedEvent): readonly SessionInfo[] => {
    const { sessions, session } = data as { sessions?: SessionInfo[]; session?: SessionInfo };
    return sessions ?? (session ? [session] : []);
  };
  const isWanted = (session: SessionInfo): boolean => session.id === id && session.state === state;
  const event = await stream.until((each) => sessionsIn(each).some(isWanted));
  stream.close();
  return sessionsIn(event).find(isWanted)!;
}
