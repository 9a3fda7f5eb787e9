import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from "node:http";

/** A bare client for this module's tests: it reads the wire by itself and knows nothing of the server's code. */
export type Received = {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  /** Sizes of the pieces in which the body arrived. */
  chunks: readonly number[];
  /** How the answer ended. */
  end: "complete" | "broken" | string;
};

export type Sending = {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  rawBody?: string | Buffer;
  onChunk?: (soFar: Buffer, abort: () => void) => void;
  onRequest?: (request: ClientRequest) => void;
};

export function send(url: string, sending: Sending): Promise<Received> {
  return new Promise((resolve) => {
    let hasResponse = false;
    const headers = { "content-type": "application/json", ...sending.headers };
    const target = new URL(sending.path ?? "/v1/messages", url);
    const request = httpRequest(target, { method: sending.method ?? "POST", headers }, (response) => {
      hasResponse = true;
      const parts: Buffer[] = [];
      const finish = (end: string) => {
        const chunks = parts.map((part) => part.length);
        const { statusCode = 0, headers: received } = response;
        resolve({ status: statusCode, headers: received, bytes: Buffer.concat(parts), chunks, end });
      };
      response.on("data", (part: Buffer) => {
        parts.push(part);
        sending.onChunk?.(Buffer.concat(parts), () => request.destroy());
      });
      response.once("end", () => finish("complete"));
      response.once("error", (error: NodeJS.ErrnoException) => finish(error.code ?? "broken"));
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      // Node reports a reset on the request too; the response then tells how far it came.
      if (hasResponse) return;
      resolve({ status: 0, headers: {}, bytes: Buffer.alloc(0), chunks: [], end: error.code ?? "broken" });
    });
    sending.onRequest?.(request);
    request.end(sending.rawBody ?? (sending.body === undefined ? undefined : JSON.stringify(sending.body)));
  });
}

export const anthropicHeaders = { "x-api-key": "key", "anthropic-version": "2023-06-01" };
const openaiHeaders = { authorization: "Bearer key" };

export function callAnthropic(url: string, body: Record<string, unknown> = {}, more: Partial<Sending> = {}) {
  const whole = { model: "claude-test", max_tokens: 1000, messages: [{ role: "user", content: "Hello" }], ...body };
  return send(url, { path: "/v1/messages", headers: anthropicHeaders, body: whole, ...more });
}

export function callOpenai(url: string, body: Record<string, unknown> = {}, more: Partial<Sending> = {}) {
  const whole = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }], ...body };
  return send(url, { path: "/v1/chat/completions", headers: openaiHeaders, body: whole, ...more });
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
