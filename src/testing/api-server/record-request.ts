import type { IncomingMessage, ServerResponse } from "node:http";
import { asObject, asText } from "./json-values.ts";
import type { RecordedRequest } from "./types.ts";

export type Recorder = {
  /**
   * Reads the whole body and records the request. Resolves to undefined if the client disconnects before the end of the
   * body.
   */
  record(incoming: IncomingMessage, response: ServerResponse): Promise<LiveRequest | undefined>;
  readonly requests: readonly RecordedRequest[];
  waitFor(n: number): Promise<RecordedRequest>;
  /**
   * Called before the server closes its connections. Rejects all promises that wait for requests that can no longer
   * arrive.
   */
  stop(): void;
};

/** A recorded request that is being answered. */
export type LiveRequest = { request: Writable<RecordedRequest>; closing: () => void; forgetBody: () => void };

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Waiter = { n: number; resolve: (request: RecordedRequest) => void; reject: (error: Error) => void };

export function createRecorder(options: { light: boolean; now: () => number }): Recorder {
  const requests: RecordedRequest[] = [];
  const connections = new WeakMap<object, number>();
  let connectionCount = 0;
  let waiters: Waiter[] = [];
  let stopped = false;

  const connectionOf = (socket: object) => {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    connectionCount += 1;
    connections.set(socket, connectionCount);
    return connectionCount;
  };

  return {
    requests,
    async record(incoming, response) {
      const beganAt = options.now();
      const rawBody = await readBody(incoming);
      if (rawBody === undefined) return undefined;
      const connection = connectionOf(incoming.socket);
      const arrival = {
        ordinal: requests.length + 1,
        connection,
        beganAt,
        arrivedAt: options.now(),
        light: options.light,
      };
      const live = makeRequest(incoming, { response, rawBody, ...arrival });
      response.prependOnceListener("close", () => stopped && live.closing());
      requests.push(live.request);
      for (const waiter of waiters.filter((one) => one.n === requests.length)) waiter.resolve(live.request);
      waiters = waiters.filter((one) => one.n > requests.length);
      return live;
    },
    waitFor(n) {
      const known = requests[n - 1];
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve, reject) => waiters.push({ n, resolve, reject }));
    },
    stop() {
      stopped = true;
      for (const { n, reject } of waiters) {
        reject(new Error(`request ${n} never arrived: the server closed after ${requests.length} requests`));
      }
      waiters = [];
    },
  };
}

type Arrival = {
  response: ServerResponse;
  rawBody: Buffer;
  ordinal: number;
  connection: number;
  beganAt: number;
  arrivedAt: number;
  light: boolean;
};

function makeRequest(incoming: IncomingMessage, arrival: Arrival): LiveRequest {
  const { response, rawBody, light } = arrival;
  let closedByServer = false;
  let parsed: { value: unknown } | undefined;
  const path = incoming.url ?? "/";
  const request: Writable<RecordedRequest> = {
    ordinal: arrival.ordinal,
    wire: wireOf(incoming.method, path),
    method: incoming.method ?? "",
    path,
    headers: light ? {} : incoming.headers,
    rawBody,
    bodyBytes: rawBody.length,
    get body() {
      parsed ??= { value: parseBody(this.rawBody) };
      return parsed.value;
    },
    model: "",
    streaming: false,
    streamsUsage: false,
    beganAt: arrival.beganAt,
    arrivedAt: arrival.arrivedAt,
    connection: arrival.connection,
    bytesSent: 0,
    aborted: false,
    ended: new Promise((resolve) => {
      response.once("close", () => {
        request.aborted = !response.writableFinished && !closedByServer;
        resolve();
      });
    }),
  };
  Object.assign(request, fieldsOfPath(path) ?? (light ? scanFields(rawBody) : readFields(request.body)));
  return {
    request,
    closing: () => {
      closedByServer = true;
    },
    forgetBody: () => {
      request.rawBody = emptyBody;
      parsed = { value: undefined };
    },
  };
}

const emptyBody = Buffer.alloc(0);

function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.once("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    incoming.once("error", () => resolve(undefined));
    incoming.once("close", () => resolve(undefined));
  });
}

function wireOf(method: string | undefined, url: string): RecordedRequest["wire"] {
  const path = url.split("?", 1)[0];
  if (method === "POST" && path === "/v1/messages") return "anthropic";
  if (method === "POST" && path === "/v1/chat/completions") return "openai";
  if (method === "POST" && path === "/v1/responses") return "responses";
  if (method === "POST" && geminiPath.test(url)) return "gemini";
  if (method === "GET" && (path === "/v1/models" || path === "/v1beta/models")) return "models";
  return "unknown";
}

const geminiPath = /^\/v1beta\/models\/([^/:?]+):(generateContent|streamGenerateContent\?alt=sse)$/;

type BodyFields = Pick<RecordedRequest, "model" | "streaming" | "streamsUsage">;

/** Returns the fields of a request in the Gemini wire format, which has them in its path. */
function fieldsOfPath(path: string): BodyFields | undefined {
  const [, model, method] = geminiPath.exec(path) ?? [];
  if (model === undefined) return undefined;
  return { model: decodeURIComponent(model), streaming: method !== "generateContent", streamsUsage: true };
}

function readFields(value: unknown): BodyFields {
  const body = asObject(value);
  return {
    model: asText(body["model"]),
    streaming: body["stream"] === true,
    streamsUsage: asObject(body["stream_options"])["include_usage"] === true,
  };
}

/** Finds the fields without parsing the body, which is possible because quotes inside a JSON string are escaped. */
function scanFields(body: Buffer): BodyFields {
  const holds = (key: string) => body.includes(`"${key}":true`) || body.includes(`"${key}": true`);
  const at = body.indexOf('"model"');
  const model = at < 0 ? undefined : /^"model"\s*:\s*"([^"]*)"/.exec(body.toString("latin1", at, at + 200))?.[1];
  return { model: model ?? "", streaming: holds("stream"), streamsUsage: holds("include_usage") };
}

function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
