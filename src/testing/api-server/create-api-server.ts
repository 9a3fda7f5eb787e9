import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createCallAnswerer } from "./answer-call.ts";
import { createRecorder } from "./record-request.ts";
import { runScript } from "./script/script.ts";
import type { ApiServer, ApiServerOptions, RecordedRequest } from "./types.ts";
import { errorAnswer } from "./wire/error-answer.ts";

/**
 * Starts a model API on loopback. It shares no code with the product, so that it can catch the product's bugs.
 *
 * ```ts
 * const server = await createApiServer({ script: [{ reply: { content: "Hello." } }] });
 * const session = await openSession({ environment: { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "any" } });
 * ```
 */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  if (options?.script === undefined)
    throw new TypeError('createApiServer needs a script, such as { script: [{ content: "Hello." }] }');
  const seed = options.seed ?? 1;
  const now = options.now ?? (() => performance.now());
  const recorder = createRecorder({ light: options.record === "light", now });
  const script = runScript(options.script);
  const bugs: unknown[] = [];
  const answerCall = createCallAnswerer({ options, script, seed, now });

  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const live = await recorder.record(incoming, response);
    if (live === undefined) return;
    const { request } = live;
    if (request.wire === "models") return answerModels(request, response, options.models ?? ["scripted-model"]);
    if (request.wire === "unknown") return answerUnknown(request, response);
    await answerCall(live, response);
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      bugs.push(error);
      response.destroy();
    });
  });
  // The server must not close a kept-alive connection just when its client sends the next request.
  server.keepAliveTimeout = 600_000;
  server.requestTimeout = 0;
  const port = await listen(server, options.port ?? 0);

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seed,
    requests: recorder.requests,
    waitForRequest: (n) => recorder.waitFor(n),
    assertDone: () => assertDone(recorder.requests, script.unused(), bugs),
    close: () =>
      new Promise((resolve) => {
        recorder.stop();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: ReturnType<typeof createServer>, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Responds with Gemini's list, or with one that clients of all other wire formats can read. */
function answerModels({ path }: RecordedRequest, response: ServerResponse, models: readonly string[]): void {
  response.writeHead(200, { "content-type": "application/json" });
  if (path.startsWith("/v1beta/")) {
    const listed = models.map((id) => ({ name: `models/${id}`, supportedGenerationMethods: ["generateContent"] }));
    response.end(JSON.stringify({ models: listed }));
    return;
  }
  const data = models.map((id) => ({
    id,
    type: "model",
    object: "model",
    display_name: id,
    created_at: "2025-01-01T00:00:00Z",
    created: 1_700_000_000,
    owned_by: "scripted",
  }));
  const list = { object: "list", data, has_more: false, first_id: models[0] ?? null, last_id: models.at(-1) ?? null };
  response.end(JSON.stringify(list));
}

function answerUnknown(request: RecordedRequest, response: ServerResponse): void {
  const message = `this server does not support ${request.method} ${request.path}`;
  request.refusal = message;
  request.status = 404;
  const answer = errorAnswer("anthropic", 404, { message });
  response.writeHead(404, answer.headers);
  response.end(answer.body);
}

function assertDone(requests: readonly RecordedRequest[], unused: readonly string[], bugs: readonly unknown[]): void {
  const lines = [
    ...requests.flatMap((one) =>
      one.unscripted ? [`request ${one.ordinal} was not scripted: ${one.unscripted}`] : [],
    ),
    ...requests.flatMap((one) => (one.refusal ? [`request ${one.ordinal} was refused: ${one.refusal}`] : [])),
    ...unused,
    ...bugs.map((bug) => `the API server failed: ${bug instanceof Error ? bug.stack : String(bug)}`),
  ];
  if (lines.length > 0) throw new Error(`The API server's script was not followed:\n- ${lines.join("\n- ")}`);
}
