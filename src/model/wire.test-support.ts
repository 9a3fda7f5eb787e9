import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";
import type { Clock, Model, ModelProgress, ModelRequest, Prompt } from "../ports/index.ts";
import type { Dialect, ModelOutcome } from "../protocol/index.ts";
import { type ApiServer, type ApiServerOptions, createApiServer } from "../testing/index.ts";
import type { Delay } from "./limits/delay.ts";
import { createLimiter, type Limiter } from "./limits/limiter.ts";
import type { ResolvedProvider } from "./providers/providers.ts";
import { type Connections, createConnections } from "./transport/connections.ts";
import { createWireModel, type WireModelOptions } from "./wire-model.ts";

export const realClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

export function atEnd(close: () => Promise<void> | void): void {
  closing.push(close);
}

export async function serve(options: ApiServerOptions): Promise<ApiServer> {
  const server = await createApiServer(options);
  atEnd(() => server.close());
  return server;
}

/** Starts a server that answers every request with these bytes. Compatible servers often deviate from the standard. */
export async function answering(body: string, contentType = "text/event-stream", status = 200): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(status, { "content-type": contentType });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => new Promise((resolve) => server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function connectionsForTest(options: Parameters<typeof createConnections>[0] = {}): Connections {
  const connections = createConnections({ environment: {}, ...options });
  atEnd(() => connections.close());
  return connections;
}

export const testKey = "sk-test-0123456789abcdef";

export function providerAt(url: string, dialect: Dialect, more: Partial<ResolvedProvider> = {}): ResolvedProvider {
  return {
    name: dialect,
    dialect,
    baseUrl: url,
    keyVariable: { anthropic: "ANTHROPIC_API_KEY", gemini: "GEMINI_API_KEY", openai, responses: openai }[dialect],
    secretHeaders: () => secrets[dialect] ?? { authorization: `Bearer ${testKey}` },
    models: {},
    ...more,
  };
}

const openai = "OPENAI_API_KEY";
const secrets: Partial<Record<Dialect, Record<string, string>>> = {
  anthropic: { "x-api-key": testKey },
  gemini: { "x-goog-api-key": testKey },
};

/** Returns a conversation with one message, written by hand for each dialect and split into several pieces. */
export function promptOf(text = "hello", model = "test-model"): Prompt {
  const messages = [{ role: "user" as const, content: [{ type: "text" as const, text }] }];
  const common = `{"model":${JSON.stringify(model)},"stream":true,`;
  const wire = `[{"role":"user","content":${JSON.stringify(text)}}],`;
  return {
    head: {
      provider: "test",
      model,
      dialect: "anthropic",
      tools: [],
      system: "",
      systemContext: "",
      userContext: "",
    },
    messages: () => messages,
    body: (dialect, maxTokens) => {
      if (dialect === "gemini") {
        const pieces = ['{"contents":[', `{"role":"user","parts":[{"text":${JSON.stringify(text)}}]}],`];
        return [...pieces, `"generationConfig":{"maxOutputTokens":${maxTokens}}}`].map((piece) => Buffer.from(piece));
      }
      const { more, messages, limit } = fields[dialect];
      return [common, more, `"${messages}":`, wire, `"${limit}":${maxTokens}}`].map((piece) => Buffer.from(piece));
    },
  };
}

const fields: Readonly<Record<Exclude<Dialect, "gemini">, { more: string; messages: string; limit: string }>> = {
  anthropic: { more: "", messages: "messages", limit: "max_tokens" },
  openai: { more: '"stream_options":{"include_usage":true},', messages: "messages", limit: "max_tokens" },
  responses: { more: '"store":false,', messages: "input", limit: "max_output_tokens" },
};

export interface Call {
  readonly outcome: ModelOutcome;
  readonly progress: readonly ModelProgress[];
}

export interface Caller {
  readonly delays: number[];
  readonly limiter: Limiter;
  /** Calls the model. `watch` gets what it emits. */
  call(request?: Partial<ModelRequest>, watch?: (event: ModelProgress) => void): Promise<Call>;
}

/** Creates a caller whose retry delays take no real time: they only advance a separate clock. `delays` lists them. */
export function callerFor(url: string, dialect: Dialect, options: Partial<WireModelOptions> = {}): Caller {
  const delays: number[] = [];
  let waited = 0;
  const clock: Clock = { ...realClock, monotonic: () => waited };
  const delay: Delay = (milliseconds) => {
    delays.push(milliseconds);
    waited += milliseconds;
    return Promise.resolve();
  };
  const limiter = options.limiter ?? createLimiter({ clock, delay });
  const model = createWireModel({
    provider: providerAt(url, dialect),
    model: "test-model",
    limiter,
    clock: realClock,
    random: () => 0.5,
    connections: options.connections ?? connectionsForTest(),
    ...options,
  });
  return {
    delays,
    limiter,
    call: (request, watch) => callModel(model, request, watch),
  };
}

/** Calls any model once, and collects what it emits. */
export async function callModel(
  model: Model,
  request: Partial<ModelRequest> = {},
  watch?: (event: ModelProgress) => void,
): Promise<Call> {
  const progress: ModelProgress[] = [];
  let over = false;
  const emit = (event: ModelProgress) => {
    if (over) throw new Error("emitted after the end");
    // Leaves out events that only the clocks of a run use.
    if (event.type === "waiting" || event.type === "sent") return;
    progress.push(event);
    watch?.(event);
  };
  const signal = new AbortController().signal;
  const all = {
    prompt: promptOf(),
    maxTokens: 1_000,
    callId: (index: number) => `call_${index}`,
    signal,
    ...request,
  };
  const outcome = await model.call(all, emit);
  over = true;
  return { outcome, progress };
}

export function textDeltas({ progress }: Call): string {
  return progress.map((event) => (event.type === "text.delta" ? event.text : "")).join("");
}
