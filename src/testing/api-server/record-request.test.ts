import { Agent } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { callAnthropic, callOpenai, send } from "./client.test-support.ts";
import { createApiServer } from "./create-api-server.ts";
import type { ApiServer } from "./types.ts";

let server: ApiServer;
afterEach(() => server.close());

describe("recording", () => {
  it("keeps bytes, headers, times and the order of arrival", async () => {
    let time = 100;
    server = await createApiServer({ script: [{ content: "a" }], now: () => time++ });
    const rawBody = '{ "model":"m", "max_tokens" : 5, "messages": [{"role":"user","content":"x"}]}';
    await callAnthropic(server.url, {}, { rawBody });
    const request = await server.waitForRequest(1);
    await request.ended;
    expect(request.rawBody.toString()).toBe(rawBody);
    expect(request.body).toEqual(JSON.parse(rawBody));
    expect(request).toMatchObject({ ordinal: 1, wire: "anthropic", model: "m", streaming: false, status: 200 });
    expect(request.headers["anthropic-version"]).toBe("2023-06-01");
    expect(request.aborted).toBe(false);
    expect(request.arrivedAt).toBeLessThan(request.firstByteAt ?? 0);
    expect(request.firstByteAt).toBeLessThan(request.lastByteAt ?? 0);
    expect(server.requests).toEqual([request]);
  });

  it("shows which requests shared a connection", async () => {
    const agent = new Agent({ keepAlive: true });
    server = await createApiServer({ script: () => ({ content: "a" }) });
    const { request: httpRequest } = await import("node:http");
    const call = () =>
      new Promise((resolve) => {
        const sent = httpRequest(`${server.url}/v1/models`, { agent }, (response) =>
          response.resume().once("close", resolve),
        );
        sent.end();
      });
    await call();
    await call();
    await send(server.url, { path: "/v1/models", method: "GET" });
    expect(server.requests.map((request) => request.connection)).toEqual([1, 1, 2]);
    agent.destroy();
  });

  it("notices a client that disconnects in the middle of a response", async () => {
    server = await createApiServer({
      script: [
        { content: "abcdef", pacing: { chunkCharacters: 1, chunkMs: 1 }, fault: { kind: "hang", afterBytes: 900 } },
      ],
    });
    await callAnthropic(server.url, { stream: true }, { onChunk: (soFar, abort) => soFar.length >= 900 && abort() });
    const request = await server.waitForRequest(1);
    await request.ended;
    expect(request).toMatchObject({ aborted: true, bytesSent: 900 });
  });

  it("stops a test from waiting when the server closes", async () => {
    server = await createApiServer({ script: [] });
    const waiting = server.waitForRequest(1);
    await server.close();
    await expect(waiting).rejects.toThrow("request 1 never arrived");
  });

  it("keeps no bodies in light mode, but still follows the script", async () => {
    server = await createApiServer({
      record: "light",
      script: [{ when: { lastUserContains: "Hello" }, reply: { content: "a" } }, { content: "b" }],
    });
    const first = await callAnthropic(server.url, { stream: true });
    const second = await callOpenai(server.url, { stream: true, stream_options: { include_usage: true } });
    expect(first.bytes.toString()).toContain('"model":"claude-test"');
    expect(second.bytes.toString()).toContain('"total_tokens"');
    for (const request of server.requests) {
      await request.ended;
      expect(request).toMatchObject({ streaming: true, headers: {} });
      expect(request.rawBody.length).toBe(0);
      expect(request.bodyBytes).toBeGreaterThan(50);
      expect(request.body).toBeUndefined();
    }
  });
});
