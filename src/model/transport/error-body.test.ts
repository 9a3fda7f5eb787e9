import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { listModels } from "../providers/list-models.ts";
import { atEnd, callerFor, connectionsForTest, providerAt } from "../wire.test-support.ts";
import { createErrorBody } from "./error-body.ts";

const error = (message: string) => JSON.stringify({ error: { type: "invalid_request_error", message } });

function textOf(bytes: Buffer, encoding?: string): string {
  const body = createErrorBody(encoding);
  for (let at = 0; at < bytes.length; at += 1_000) body.add(bytes.subarray(at, at + 1_000));
  return body.text();
}

describe("the body of an error", () => {
  it.each([
    [undefined, (text: string) => Buffer.from(text)],
    ["identity", (text: string) => Buffer.from(text)],
    ["gzip", gzipSync],
    ["GZIP", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("is read if its encoding is %s", (encoding, compress) => {
    expect(textOf(compress("Grüße, 你好"), encoding)).toBe("Grüße, 你好");
  });

  it("is cut after 64 kB", () => {
    expect(textOf(Buffer.alloc(1_000_000, "x")).length).toBe(64_000);
  });

  it.each([
    ["gzip", gzipSync(Buffer.alloc(50_000_000))],
    ["deflate", deflateSync(Buffer.alloc(50_000_000))],
    ["br", brotliCompressSync(Buffer.alloc(50_000_000))],
  ])("is left out if it becomes too large (%s)", (encoding, bomb) => {
    expect(bomb.length).toBeLessThan(64_000);
    expect(textOf(bomb, encoding)).toBe("");
  });

  it.each([
    ["gzip", Buffer.from("no gzip")],
    ["gzip", gzipSync("cut off").subarray(0, 12)],
    ["zstd", Buffer.from("unknown")],
  ])("is left out if it can't be decompressed (%s)", (encoding, bytes) => {
    expect(textOf(bytes, encoding)).toBe("");
  });
});

describe("an error that a gateway has compressed", () => {
  /** Answers the first request with this error, and all later ones successfully. */
  const serveError = async (status: number, body: Buffer, headers: Record<string, string> = {}) => {
    let requests = 0;
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        requests += 1;
        if (requests === 1) {
          response.writeHead(status, { "content-type": "application/json", "content-encoding": "gzip", ...headers });
          response.end(body);
        } else {
          response.end('data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    atEnd(() => new Promise((resolve) => server.close(() => resolve())));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, count: () => requests };
  };

  it("is retried when the server asks for it", async () => {
    const { url, count } = await serveError(429, gzipSync(error("Slow down.")), { "retry-after": "7" });
    const call = await callerFor(url, "openai").call();
    expect(call.outcome.ok).toBe(true);
    expect(call.progress).toContainEqual({
      type: "retried",
      retry: { attempt: 1, maxAttempts: 10, delayMs: 7_000, status: 429, error: expect.stringContaining("Slow down") },
    });
    expect(count()).toBe(2);
  });

  it("is quoted, and its message determines the error code", async () => {
    const { url, count } = await serveError(400, gzipSync(error("prompt is too long: 208310 tokens")));
    const call = await callerFor(url, "openai").call();
    expect(call.outcome).toMatchObject({
      ok: false,
      error: { code: "context_overflow", message: expect.stringContaining("208310 tokens"), status: 400 },
    });
    expect(count()).toBe(1);
  });

  it("is classified by its status if the body becomes too large", async () => {
    const { url } = await serveError(503, gzipSync(Buffer.alloc(50_000_000)));
    const call = await callerFor(url, "openai").call();
    expect(call.outcome.ok).toBe(true);
    expect(call.progress).toContainEqual({ type: "retried", retry: expect.objectContaining({ status: 503 }) });
  });

  it("is quoted if the request for the list of models is refused", async () => {
    const { url } = await serveError(403, gzipSync(error("This project is archived.")));
    const list = await listModels(providerAt(url, "openai"), { connections: connectionsForTest() });
    expect(list).toEqual({ ok: false, message: expect.stringContaining("This project is archived") });
  });
});
