import { isUtf8 } from "node:buffer";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { callAnthropic, callOpenai, readEvents, readJsonEvents } from "./client.test-support.ts";
import { createApiServer } from "./create-api-server.ts";
import type { ApiServer, Fault, Reply } from "./types.ts";

let server: ApiServer;
afterEach(() => server.close());

const wires = [
  ["anthropic", callAnthropic],
  ["openai", callOpenai],
] as const;
const withTool: Reply = { content: ["Reading.", { tool: "Read", id: "t1", input: { path: "a.ts", limit: 3 } }] };

async function startWith(fault: Fault, reply: Reply = withTool) {
  server = await createApiServer({ script: [{ ...reply, fault }], validate: false });
}

const errorOf = (bytes: Buffer) => JSON.parse(bytes.toString()).error;

describe("error responses", () => {
  it.each([
    [400, "invalid_request_error", "invalid_request_error"],
    [401, "authentication_error", "invalid_request_error"],
    [403, "permission_error", "invalid_request_error"],
    [429, "rate_limit_error", "rate_limit_error"],
    [500, "api_error", "server_error"],
    [502, "api_error", "server_error"],
    [503, "api_error", "server_error"],
    [529, "overloaded_error", "api_error"],
  ])("have status %i in each wire format", async (status, anthropicType, openaiType) => {
    server = await createApiServer({ script: () => ({ content: "", fault: { kind: "status", status } }) });
    const one = await callAnthropic(server.url, { stream: true });
    const other = await callOpenai(server.url, { stream: true });
    expect([one.status, errorOf(one.bytes).type]).toEqual([status, anthropicType]);
    expect([other.status, errorOf(other.bytes).type]).toEqual([status, openaiType]);
  });

  it("say when to retry, in each of the three formats", async () => {
    const retryAfters = [{ seconds: 3 }, { dateInSeconds: 60 }, { milliseconds: 250 }];
    const script = retryAfters.map((retryAfter): Reply => {
      return { content: "", fault: { kind: "status", status: 429, retryAfter } };
    });
    server = await createApiServer({ script });
    expect((await callAnthropic(server.url)).headers["retry-after"]).toBe("3");
    const before = Math.floor(Date.now() / 1000) * 1000;
    const date = Date.parse((await callAnthropic(server.url)).headers["retry-after"] ?? "");
    expect(date).toBeGreaterThanOrEqual(before + 60_000);
    expect((await callAnthropic(server.url)).headers["retry-after-ms"]).toBe("250");
  });

  it("distinguish a spending limit from a rate limit", async () => {
    server = await createApiServer({ script: () => ({ content: "", fault: { kind: "spend-cap" } }) });
    const one = await callAnthropic(server.url);
    const other = await callOpenai(server.url);
    expect([one.status, errorOf(one.bytes).type]).toEqual([429, "billing_error"]);
    expect([other.status, errorOf(other.bytes).code]).toEqual([429, "insufficient_quota"]);
  });

  it.each(wires)("may be HTML with status 200 (%s)", async (_, call) => {
    await startWith({ kind: "html" });
    const received = await call(server.url, { stream: true });
    expect(received).toMatchObject({ status: 200, headers: { "content-type": "text/html; charset=utf-8" } });
    expect(received.bytes.toString()).toContain("<html>");
  });
});

describe("broken connections", () => {
  const whole = async (call: (typeof wires)[number][1]) => {
    server = await createApiServer({ script: [withTool] });
    const { bytes } = await call(server.url, { stream: true });
    await server.close();
    return bytes;
  };

  it.each(wires)("close after exactly N bytes (%s)", async (_, call) => {
    const bytes = await whole(call);
    await startWith({ kind: "close", afterBytes: 150 });
    const received = await call(server.url, { stream: true });
    expect(received.end).toBe("ECONNRESET");
    expect(received.bytes.equals(bytes.subarray(0, 150))).toBe(true);
    expect((await server.waitForRequest(1)).aborted).toBe(false);
  });

  it.each(wires)("reset after exactly N bytes (%s)", async (_, call) => {
    const bytes = await whole(call);
    await startWith({ kind: "reset", afterBytes: 150 });
    const received = await call(server.url, { stream: true });
    expect(received.end).toBe("ECONNRESET");
    expect(received.bytes.equals(bytes.subarray(0, 150))).toBe(true);
  });

  it.each(["close", "reset"] as const)("fail with %s before the headers", async (kind) => {
    await startWith({ kind });
    expect(await callAnthropic(server.url)).toMatchObject({ status: 0, end: "ECONNRESET" });
  });

  it("end normally for close, and with a TCP reset for reset", async () => {
    const endOf = async (kind: "close" | "reset") => {
      await startWith({ kind });
      const socket = connect(server.port, "127.0.0.1");
      socket.write("POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}");
      socket.resume();
      const end = await new Promise((resolve) => {
        socket.once("end", () => resolve("end"));
        socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
      });
      socket.destroy();
      await server.close();
      return end;
    };
    expect([await endOf("close"), await endOf("reset")]).toEqual(["end", "ECONNRESET"]);
  });

  it("hang before the headers until the client disconnects", async () => {
    await startWith({ kind: "hang" });
    const abort = new AbortController();
    const call = callAnthropic(
      server.url,
      {},
      { onRequest: (request) => abort.signal.addEventListener("abort", () => request.destroy()) },
    );
    const request = await server.waitForRequest(1);
    abort.abort();
    expect((await call).status).toBe(0);
    await request.ended;
    expect(request).toMatchObject({ aborted: true, bytesSent: 0 });
  });

  it("hang after N bytes until the server closes", async () => {
    await startWith({ kind: "hang", afterBytes: 40 });
    let seen = () => {};
    const arrived = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const call = callAnthropic(server.url, { stream: true }, { onChunk: (soFar) => soFar.length === 40 && seen() });
    await arrived;
    await server.close();
    expect((await call).bytes.length).toBe(40);
    const request = await server.waitForRequest(1);
    await request.ended;
    expect(request.aborted).toBe(false);
  });

  it("are cut at a random position determined by the seed", async () => {
    const cutAt = async (seed: number) => {
      server = await createApiServer({
        seed,
        script: [{ ...withTool, fault: { kind: "close", afterBytes: "random" } }],
      });
      const { bytes } = await callAnthropic(server.url, { stream: true });
      await server.close();
      return bytes.length;
    };
    const places = [await cutAt(1), await cutAt(2), await cutAt(1)];
    expect(places[2]).toBe(places[0]);
    expect(places[1]).not.toBe(places[0]);
  });
});

describe("faulty streams", () => {
  it.each(wires)("are split after every byte and after every k bytes (%s)", async (_, call) => {
    const reply: Reply = { content: "Grüße 👋🏽 漢字" };
    server = await createApiServer({
      script: [reply, { ...reply, fault: { kind: "split" } }, { ...reply, fault: { kind: "split", bytes: 7 } }],
    });
    const body = { stream: true };
    const [normal, single, seven] = [
      await call(server.url, body),
      await call(server.url, body),
      await call(server.url, body),
    ];
    const textOf = (bytes: Buffer) => bytes.toString().replace(/01[0-9a-f]{22}/g, "ID");
    expect(textOf(single.bytes)).toBe(textOf(normal.bytes));
    expect(textOf(seven.bytes)).toBe(textOf(normal.bytes));
    expect(new Set(single.chunks)).toEqual(new Set([1]));
    expect(Math.max(...seven.chunks)).toBe(7);
  });

  it("wait after each byte", async () => {
    await startWith({ kind: "slow", msPerByte: 1 }, { content: "a" });
    const received = await callOpenai(server.url);
    expect(new Set(received.chunks)).toEqual(new Set([1]));
    expect(received.end).toBe("complete");
  });

  it("contain an error event in the middle", async () => {
    await startWith({ kind: "error-event" });
    const events = readEvents((await callAnthropic(server.url, { stream: true })).bytes);
    expect(events.at(-1)?.event).toBe("error");
    expect(JSON.parse(events.at(-1)?.data ?? "").error.type).toBe("overloaded_error");
    expect(events.some((event) => event.event === "content_block_delta")).toBe(true);
    await server.close();
    await startWith({ kind: "error-event", afterEvents: 2, errorType: "server_error" });
    const chunks = readJsonEvents((await callOpenai(server.url, { stream: true })).bytes);
    expect(chunks).toHaveLength(3);
    expect(chunks[2]).toMatchObject({ error: { type: "server_error" } });
  });

  it("stop in the middle of the tool's input and close", async () => {
    await startWith({ kind: "truncated-tool-json", end: "close" });
    const received = await callAnthropic(server.url, { stream: true });
    expect(received.end).toBe("ECONNRESET");
    const text = received.bytes.toString();
    expect(text).toContain("input_json_delta");
    expect(text).not.toContain("message_delta");
  });

  it.each(wires)("cut off the tool's input at the token limit (%s)", async (_, call) => {
    await startWith({ kind: "truncated-tool-json", end: "max-tokens" });
    const received = await call(server.url, { stream: true });
    expect(received.end).toBe("complete");
    const text = received.bytes.toString();
    expect(text).toContain(JSON.stringify('{"path":"a.').slice(0, -1));
    expect(text).not.toContain('\\"limit\\":3}');
    expect(text).toMatch(/"stop_reason":"max_tokens"|"finish_reason":"length"/);
  });

  it.each(wires)("contain bytes that are not UTF-8 inside a delta, streaming or not (%s)", async (_, call) => {
    server = await createApiServer({ script: () => ({ ...withTool, fault: { kind: "invalid-utf8" } }) });
    for (const stream of [true, false]) {
      const { bytes } = await call(server.url, { stream });
      expect(isUtf8(bytes)).toBe(false);
      expect(bytes.toString()).toMatch(/Read.{1,8}ing\./);
    }
  });

  it("send one event twice", async () => {
    await startWith({ kind: "duplicate-event", event: -1 });
    const events = readEvents((await callAnthropic(server.url, { stream: true })).bytes);
    expect(events.slice(-3).map((event) => event.event)).toEqual(["message_delta", "message_stop", "message_stop"]);
  });

  it.each(wires)("leave out the end and close cleanly (%s)", async (_, call) => {
    await startWith({ kind: "missing-end" });
    const received = await call(server.url, { stream: true });
    expect(received.end).toBe("complete");
    expect(received.bytes.toString()).not.toMatch(/message_stop|\[DONE\]/);
    expect(received.bytes.toString()).toMatch(/"tool_use"|"tool_calls"/);
  });

  it("have a wrong content type", async () => {
    await startWith({ kind: "wrong-content-type" });
    const received = await callAnthropic(server.url, { stream: true });
    expect(received.headers["content-type"]).toBe("text/plain");
    expect(readEvents(received.bytes).at(-1)?.event).toBe("message_stop");
  });

  it("fail clearly if the request does not stream", async () => {
    await startWith({ kind: "missing-end" });
    expect((await callAnthropic(server.url)).status).toBe(500);
    expect(() => server.assertDone()).toThrow('fault "missing-end" needs a streaming request');
  });
});

describe("faulty messages", () => {
  const answer = async (fault: Fault, reply: Reply = withTool) => {
    await startWith(fault, reply);
    const body = JSON.parse((await callAnthropic(server.url)).bytes.toString());
    return body.content as Record<string, unknown>[];
  };

  it("call a tool that does not exist", async () => {
    expect((await answer({ kind: "unknown-tool" }))[1]).toMatchObject({ name: "NoSuchTool", id: "t1" });
  });

  it("have arguments of the wrong types", async () => {
    expect((await answer({ kind: "wrong-argument-types" }))[1]?.["input"]).toEqual({ path: 42, limit: "not a number" });
  });

  it("have an argument of a million bytes", async () => {
    const input = (await answer({ kind: "large-argument" }))[1]?.["input"] as { path: string };
    expect(input.path.length).toBe(1_000_000);
  });

  it("use one id twice, for one call or for two", async () => {
    expect((await answer({ kind: "same-tool-id-twice" })).map((block) => block["id"])).toEqual([undefined, "t1", "t1"]);
    await server.close();
    const two: Reply = {
      content: [
        { tool: "A", id: "a" },
        { tool: "B", id: "b" },
      ],
    };
    expect((await answer({ kind: "same-tool-id-twice" }, two)).map((block) => block["id"])).toEqual(["a", "a"]);
  });

  it("have as many bytes as requested, in many events or one", async () => {
    server = await createApiServer({
      script: [
        { content: "", fault: { kind: "huge", bytes: 300_000 } },
        { content: "", fault: { kind: "huge", bytes: 300_000, oneEvent: true } },
      ],
    });
    for (const events of [5, 1]) {
      const { bytes } = await callAnthropic(server.url, { stream: true });
      const deltas = readJsonEvents(bytes).filter((event) => event["type"] === "content_block_delta");
      expect(deltas).toHaveLength(events);
      expect(deltas.map((event) => (event["delta"] as { text: string }).text).join("").length).toBe(300_000);
    }
  });

  it("need a scripted tool call, and otherwise fail with a clear message", async () => {
    await startWith({ kind: "unknown-tool" }, { content: "no tool" });
    expect((await callAnthropic(server.url)).status).toBe(500);
    expect(() => server.assertDone()).toThrow("needs a reply with a tool call");
  });
});

describe("a fault", () => {
  const overloaded: Fault = { kind: "status", status: 529 };
  const statuses = async (n: number) => {
    const seen = [];
    for (let i = 0; i < n; i++) seen.push((await callAnthropic(server.url, { stream: true })).status);
    return seen;
  };

  it("applies to the first n requests and leaves the script's steps for the rest", async () => {
    server = await createApiServer({ script: [{ content: "a" }], faults: [{ fault: overloaded, first: 2 }] });
    expect(await statuses(3)).toEqual([529, 529, 200]);
    server.assertDone();
  });

  it("applies to the k-th request", async () => {
    const script = [{ content: "a" }, { content: "b" }];
    server = await createApiServer({ script, faults: [{ fault: overloaded, at: [2] }] });
    expect(await statuses(3)).toEqual([200, 529, 200]);
    server.assertDone();
  });

  it("applies to random requests, determined by the seed", async () => {
    const run = async (seed: number) => {
      server = await createApiServer({
        seed,
        script: () => ({ content: "a" }),
        faults: [{ fault: overloaded, chance: 0.5 }],
      });
      const seen = await statuses(16);
      await server.close();
      return seen.join();
    };
    const first = await run(5);
    expect(first).toContain("200");
    expect(first).toContain("529");
    expect(await run(5)).toBe(first);
    expect(await run(6)).not.toBe(first);
  });

  it("does not use up a step unless the response is complete", async () => {
    const faults: Fault[] = [overloaded, { kind: "close", afterBytes: 50 }, { kind: "error-event" }];
    server = await createApiServer({ script: [{ reply: { content: "a" }, faults }] });
    const ends = [];
    for (let i = 0; i < 4; i++) ends.push((await callAnthropic(server.url, { stream: true })).end);
    expect(ends).toEqual(["complete", "ECONNRESET", "complete", "complete"]);
    server.assertDone();
    await server.close();
    server = await createApiServer({ script: [{ reply: { content: "a" }, faults: [{ kind: "split", bytes: 9 }] }] });
    await callAnthropic(server.url);
    server.assertDone();
  });
});
