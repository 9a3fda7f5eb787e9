import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from "node:http";

/** An answer as read by a plain client that shares no code with the server. */
export type Received = {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  /** Sizes of the pieces in which the body arrived. */
  chunks: readonly number[];
  /** "complete", "broken" or the code of a connection error. */
  end: string;
};

export type SendOptions = {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  rawBody?: string | Buffer;
  onChunk?: (soFar: Buffer, abort: () => void) => void;
  onRequest?: (request: ClientRequest) => void;
};

export function send(url: string, options: SendOptions): Promise<Received> {
  return new Promise((resolve) => {
    let hasResponse = false;
    const headers = { "content-type": "application/json", ...options.headers };
    const target = new URL(options.path ?? "/v1/messages", url);
    const request = httpRequest(target, { method: options.method ?? "POST", headers }, (response) => {
      hasResponse = true;
      const parts: Buffer[] = [];
      const finish = (end: string) => {
        const chunks = parts.map((part) => part.length);
        const { statusCode = 0, headers: received } = response;
        resolve({ status: statusCode, headers: received, bytes: Buffer.concat(parts), chunks, end });
      };
      response.on("data", (part: Buffer) => {
        parts.push(part);
        options.onChunk?.(Buffer.concat(parts), () => request.destroy());
      });
      response.once("end", () => finish("complete"));
      response.once("error", (error: NodeJS.ErrnoException) => finish(error.code ?? "broken"));
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      // Node also reports a reset on the request; the response then contains what was received.
      if (hasResponse) return;
      resolve({ status: 0, headers: {}, bytes: Buffer.alloc(0), chunks: [], end: error.code ?? "broken" });
    });
    options.onRequest?.(request);
    request.end(options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body)));
  });
}

export const anthropicHeaders = { "x-api-key": "key", "anthropic-version": "2023-06-01" };
const openaiHeaders = { authorization: "Bearer key" };

export function callAnthropic(url: string, body: Record<string, unknown> = {}, more: Partial<SendOptions> = {}) {
  const whole = { model: "claude-test", max_tokens: 1000, messages: [{ role: "user", content: "Hello" }], ...body };
  return send(url, { path: "/v1/messages", headers: anthropicHeaders, body: whole, ...more });
}

export function callOpenai(url: string, body: Record<string, unknown> = {}, more: Partial<SendOptions> = {}) {
  const whole = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }], ...body };
  return send(url, { path: "/v1/chat/completions", headers: openaiHeaders, body: whole, ...more });
}

export function callResponses(url: string, body: Record<string, unknown> = {}, more: Partial<SendOptions> = {}) {
  const whole = { model: "gpt-test", store: false, input: [{ role: "user", content: "Hello" }], ...body };
  return send(url, { path: "/v1/responses", headers: openaiHeaders, body: whole, ...more });
}

export type ServerEvent = { event: string | undefined; data: string };

export function readEvents(bytes: Buffer): readonly ServerEvent[] {
  const blocks = bytes.toString("utf8").split("\n\n");
  return blocks.slice(0, -1).map((block) => {
    const field = (name: string) =>
      block
        .split("\n")
        .filter((line) => line.startsWith(`${name}: `))
        .map((line) => line.slice(name.length + 2))
        .join("\n");
    return { event: field("event") || undefined, data: field("data") };
  });
}

export function readJsonEvents(bytes: Buffer): readonly Record<string, unknown>[] {
  return readEvents(bytes)
    .filter((event) => event.data !== "[DONE]")
    .map((event) => JSON.parse(event.data));
}
