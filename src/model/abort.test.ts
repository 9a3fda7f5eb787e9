import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import type { ModelProgress } from "../ports/index.ts";
import { dialects } from "../protocol/index.ts";
import { createLimiter } from "./limits/limiter.ts";
import { atEnd, callerFor, connectionsForTest, promptOf, providerAt, realClock, serve } from "./wire.test-support.ts";
import { createWireModel } from "./wire-model.ts";

const aborted = { ok: false, error: { code: "aborted" } };

describe.each(dialects)("an abort, %s", (dialect) => {
  it("sends nothing if it comes before the call", async () => {
    const server = await serve({ script: [] });
    const { outcome } = await callerFor(server.url, dialect).call({ signal: AbortSignal.abort() });
    expect(outcome).toMatchObject({ ...aborted, partial: [] });
    expect(server.requests.length).toBe(0);
  });

  it("closes the connection if it comes before the headers", async () => {
    const server = await serve({ script: [{ content: "x", fault: { kind: "hang" } }] });
    const controller = new AbortController();
    const calling = callerFor(server.url, dialect).call({ signal: controller.signal });
    const request = await server.waitForRequest(1);
    controller.abort();
    expect((await calling).outcome).toMatchObject({ ...aborted, partial: [] });
    await request.ended;
    expect(request.aborted).toBe(true);
  });

  it("keeps the text so far if it comes during the response, and emits nothing afterwards", async () => {
    const text = Array.from({ length: 50 }, (_, index) => `w${index} `);
    const server = await serve({ script: [{ content: [{ text }], pacing: { chunkMs: 2 } }] });
    const controller = new AbortController();
    const connections = connectionsForTest();
    const limiter = createLimiter({ clock: realClock });
    const provider = providerAt(server.url, dialect);
    const model = createWireModel({ provider, model: "m", limiter, clock: realClock, connections });
    const seen: ModelProgress[] = [];
    const request = { prompt: promptOf(), maxTokens: 1_000, callId: String, signal: controller.signal };
    const outcome = await model.call(request, (event) => {
      if (event.type === "text.delta") seen.push(event);
      if (seen.length === 5) controller.abort();
    });
    expect(outcome).toMatchObject({ ...aborted, partial: [{ type: "text", text: "w0 w1 w2 w3 w4 " }] });
    await server.requests[0]?.ended;
    expect(seen.length).toBe(5);
    expect(limiter.state()).toMatchObject({ active: 0, waiting: 0 });
  });

  it("ends the wait between two attempts", async () => {
    const server = await serve({
      script: [{ reply: { content: "x" }, faults: [{ kind: "status", status: 500 }], times: "always" }],
    });
    const controller = new AbortController();
    const connections = connectionsForTest();
    const provider = providerAt(server.url, dialect);
    const limiter = createLimiter({ clock: realClock });
    const options = { provider, model: "m", limiter, clock: realClock, connections, random: () => 1 };
    const model = createWireModel({ ...options, retry: { baseMs: 60_000 } });
    const request = { prompt: promptOf(), maxTokens: 1_000, callId: String, signal: controller.signal };
    const outcome = await model.call(
      request,
      (event) => event.type === "retried" && setImmediate(() => controller.abort()),
    );
    expect(outcome).toMatchObject(aborted);
    expect(server.requests.length).toBe(1);
  });

  it("ends the wait for a throttled provider", async () => {
    const fault = { kind: "status", status: 429, retryAfter: { seconds: 300 } } as const;
    const server = await serve({ script: [{ reply: { content: "x" }, faults: [fault], times: "always" }] });
    const controller = new AbortController();
    const limiter = createLimiter({ clock: realClock });
    const caller = callerFor(server.url, dialect, { limiter });
    const first = caller.call({ signal: controller.signal });
    await (await server.waitForRequest(1)).ended;
    const second = caller.call({ signal: controller.signal });
    controller.abort();
    expect((await first).outcome).toMatchObject(aborted);
    expect((await second).outcome).toMatchObject(aborted);
    expect(limiter.state()).toMatchObject({ active: 0, waiting: 0 });
  });
});

describe("a request without a response", () => {
  const refuse = async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    await new Promise((resolve) => server.close(resolve));
    return `http://127.0.0.1:${port}`;
  };

  it("fails at once if the server never responded", async () => {
    const url = await refuse();
    const call = await callerFor(url, "openai").call();
    expect(call.outcome).toMatchObject({ ok: false, error: { code: "connection" } });
    expect(call.outcome.ok || call.outcome.error.message).toMatch(
      new RegExp(`${new URL(url).host}.*the server is running`),
    );
    expect(call.progress).toEqual([]);
  });

  it("is retried if the server responded before", async () => {
    const connections = connectionsForTest();
    const server = await serve({ script: [{ content: "x" }] });
    const caller = callerFor(server.url, "openai", { connections, retry: { maxAttempts: 3 } });
    expect((await caller.call()).outcome.ok).toBe(true);
    await server.close();
    const call = await caller.call();
    expect(call.outcome).toMatchObject({ ok: false, error: { code: "connection" } });
    expect(call.progress.filter(({ type }) => type === "retried").length).toBe(2);
  });

  it("is reported if the server does not speak HTTP", async () => {
    const server = createServer((socket) => socket.resume().end("SSH-2.0-OpenSSH_9\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    atEnd(() => new Promise((resolve) => server.close(() => resolve())));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const call = await callerFor(`http://127.0.0.1:${port}`, "openai").call();
    expect(call.outcome).toMatchObject({
      ok: false,
      error: { code: "protocol", message: expect.stringMatching(/base URL/) },
    });
  });

  it("is sent again silently if a kept-alive connection was stale", async () => {
    let connections = 0;
    const body = 'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    const server = createServer((socket) => {
      connections += 1;
      const own = connections;
      let requests = 0;
      socket.on("error", () => {});
      socket.on("data", () => {
        requests += 1;
        // The first connection answers once and is reset at the next request, like a connection that the server has
        // timed out.
        if (own === 1 && requests > 1) socket.resetAndDestroy();
        else socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    atEnd(() => new Promise((resolve) => server.close(() => resolve())));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const caller = callerFor(`http://127.0.0.1:${port}`, "openai");
    expect((await caller.call()).outcome.ok).toBe(true);
    const second = await caller.call();
    expect(second.outcome.ok).toBe(true);
    expect(second.progress.some(({ type }) => type === "retried")).toBe(false);
    expect(connections).toBe(2);
  });

  it("rejects if the listener itself throws, because that is a bug", async () => {
    const server = await serve({ script: [{ content: "x" }] });
    const limiter = createLimiter({ clock: realClock });
    const provider = providerAt(server.url, "anthropic");
    const model = createWireModel({
      provider,
      model: "m",
      limiter,
      clock: realClock,
      connections: connectionsForTest(),
    });
    const request = { prompt: promptOf(), maxTokens: 1_000, callId: String, signal: new AbortController().signal };
    const calling = model.call(request, () => {
      throw new TypeError("a bug");
    });
    await expect(calling).rejects.toThrow("a bug");
    expect(limiter.state().active).toBe(0);
  });
});
