import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { dialects, type Usage } from "../protocol/index.ts";
import type { Fault } from "../testing/index.ts";
import { atEnd, type Call, callerFor, connectionsForTest, serve, testKey } from "./wire.test-support.ts";

const good = { content: "the whole answer" };

function retriesOf({ progress }: Call) {
  return progress.flatMap((event) => (event.type === "retried" ? [event.retry] : []));
}

function errorOf({ outcome }: Call) {
  if (outcome.ok) throw new Error("expected a failure");
  return outcome.error;
}

describe.each(dialects)("temporary faults, %s", (dialect) => {
  const passing: readonly (readonly [string, Fault, number | null])[] = [
    ["408", { kind: "status", status: 408 }, 408],
    ["409", { kind: "status", status: 409 }, 409],
    ["429", { kind: "status", status: 429 }, 429],
    ["500", { kind: "status", status: 500 }, 500],
    ["502", { kind: "status", status: 502 }, 502],
    ["503", { kind: "status", status: 503 }, 503],
    ["504", { kind: "status", status: 504 }, 504],
    ["529", { kind: "status", status: 529 }, 529],
    ["close before the headers", { kind: "close" }, null],
    ["close in the middle", { kind: "close", afterBytes: 100 }, null],
    ["reset before the headers", { kind: "reset" }, null],
    ["reset in the middle", { kind: "reset", afterBytes: 100 }, null],
    ["overload in the middle", { kind: "error-event" }, null],
  ];
  it.each(passing)("%s: retries and reports it", async (_, fault, status) => {
    const server = await serve({ script: [{ reply: good, faults: [fault, fault] }] });
    const call = await callerFor(server.url, dialect).call();
    expect(call.outcome).toMatchObject({ ok: true, message: { content: [{ text: "the whole answer" }] } });
    expect(retriesOf(call)).toMatchObject([
      { attempt: 1, maxAttempts: 10, status },
      { attempt: 2, maxAttempts: 10, status },
    ]);
    expect(server.requests.length).toBe(3);
    const [first, ...others] = server.requests;
    for (const other of others) expect(other.rawBody.equals(first?.rawBody ?? Buffer.of())).toBe(true);
  });

  it.each<[string, Fault]>([
    ["split at every byte", { kind: "split" }],
    ["wrong content type", { kind: "wrong-content-type" }],
    ["wrong content type, JSON", { kind: "wrong-content-type", contentType: "application/json" }],
  ])("%s: makes no difference", async (_, fault) => {
    const server = await serve({ script: [{ ...good, fault }] });
    const call = await callerFor(server.url, dialect).call();
    expect(call.outcome).toMatchObject({ ok: true, message: { content: [{ text: "the whole answer" }] } });
    expect(retriesOf(call)).toEqual([]);
  });

  it("waits at least as long as the server asks, whether in seconds, in milliseconds or by date", async () => {
    const server = await serve({
      script: [
        {
          reply: good,
          faults: [
            { kind: "status", status: 503, retryAfter: { seconds: 7 } },
            { kind: "status", status: 503, retryAfter: { milliseconds: 12_345 } },
            { kind: "status", status: 429, retryAfter: { dateInSeconds: 60 } },
          ],
        },
      ],
    });
    const call = await callerFor(server.url, dialect).call();
    expect(call.outcome.ok).toBe(true);
    const [seconds, milliseconds, date] = retriesOf(call).map(({ delayMs }) => delayMs);
    expect([seconds, milliseconds]).toEqual([7_000, 12_345]);
    expect(date).toBeGreaterThan(55_000);
    expect(date).toBeLessThanOrEqual(61_000);
  });

  it("makes at most ten attempts, and then returns the longest partial text", async () => {
    const cut = (afterBytes: number): Fault => ({ kind: "close", afterBytes });
    const long = { content: [{ text: Array.from({ length: 40 }, (_, index) => `word${index} `) }] };
    const faults = [cut(200), cut(4_000), ...Array.from({ length: 8 }, () => cut(300))];
    const server = await serve({ script: [{ reply: long, faults, times: "always" }] });
    const caller = callerFor(server.url, dialect);
    const call = await caller.call();
    expect(errorOf(call)).toMatchObject({ code: "connection", message: expect.stringMatching(/Tried 10 times/) });
    expect(server.requests.length).toBe(10);
    const delays = retriesOf(call).map(({ delayMs }) => delayMs);
    expect(delays).toEqual([375, 750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000, 45_000]);
    const partial = call.outcome.ok ? [] : call.outcome.partial;
    expect(partial).toMatchObject([{ type: "text", text: expect.stringMatching(/^word0 word1 word2 word3 /) }]);
    expect(caller.delays.map(Math.ceil)).toEqual(delays);
  });

  it("never treats a stream without its end marker as complete", async () => {
    const server = await serve({ script: [{ reply: good, faults: [{ kind: "missing-end" }], times: "always" }] });
    const call = await callerFor(server.url, dialect).call();
    expect(call.outcome.ok).toBe(true);
    // For servers with Chat Completions, a response is complete after a finish reason and a clean close.
    expect(retriesOf(call).length).toBe(dialect === "openai" ? 0 : 1);
  });
});

describe.each(dialects)("permanent faults, %s", (dialect) => {
  it.each<[string, Fault, string, RegExp]>([
    ["400", { kind: "status", status: 400, message: "tools.0: bad" }, "bad_request", /tools\.0: bad/],
    ["401", { kind: "status", status: 401 }, "auth", /(ANTHROPIC|OPENAI|GEMINI)_API_KEY/],
    ["403", { kind: "status", status: 403 }, "auth", /(ANTHROPIC|OPENAI|GEMINI)_API_KEY/],
    ["spend cap", { kind: "spend-cap" }, "spend_cap", /credit and spending limit/],
    ["HTML with 200", { kind: "html" }, "protocol", /base URL/],
    ["HTML with 404", { kind: "status", status: 404, body: "<html>no</html>" }, "protocol", /base URL/],
    [
      "redirect",
      { kind: "status", status: 301, headers: { location: "https://x.test/v1?key=1" } },
      "protocol",
      /x\.test\/v1 /,
    ],
    [
      "prompt too long",
      { kind: "status", status: 400, message: "prompt is too long: 250000 tokens" },
      "context_overflow",
      /Compact/,
    ],
    [
      "context length",
      { kind: "status", status: 400, errorType: "context_length_exceeded" },
      "context_overflow",
      /Compact/,
    ],
    ["too large", { kind: "status", status: 413 }, "context_overflow", /Compact/],
    [
      "no tools",
      { kind: "status", status: 400, message: "registry.test/m does not support tools" },
      "unsupported",
      /the `model` option/,
    ],
    [
      "retry-after of hours",
      { kind: "status", status: 429, retryAfter: { seconds: 7_200 } },
      "rate_limited",
      /asked to wait 2h/,
    ],
  ])("%s: sends one request and reports one sentence with advice", async (_, fault, code, message) => {
    const server = await serve({ script: [{ ...good, fault }] });
    const caller = callerFor(server.url, dialect);
    const call = await caller.call();
    expect(errorOf(call)).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(server.requests.length).toBe(1);
    expect(caller.delays).toEqual([]);
  });

  it("names the model that does not exist", async () => {
    const server = await serve({ script: [], models: ["other"] });
    const error = errorOf(await callerFor(server.url, dialect).call());
    expect(error).toMatchObject({
      code: "unknown_model",
      message: expect.stringMatching(/"test-model".*the `model` option/),
    });
  });

  it("reports a response that is too large, and stores no more than the limit", async () => {
    const server = await serve({ script: [{ ...good, fault: { kind: "huge", bytes: 3_000_000 } }] });
    const call = await callerFor(server.url, dialect, { maxAnswerBytes: 1_000_000 }).call();
    expect(errorOf(call)).toMatchObject({ code: "protocol", message: expect.stringMatching(/more than 1 MB/) });
    expect(server.requests.length).toBe(1);
  });

  it("gives up on a silent server after three attempts, with the partial text", async () => {
    const hang: Fault = {
      kind: "hang",
      afterBytes: { anthropic: 700, openai: 500, responses: 2_500, gemini: 500 }[dialect],
    };
    const text = Array.from({ length: 30 }, (_, index) => `w${index} `);
    const server = await serve({
      script: [{ reply: { content: [{ text }] }, faults: [{ kind: "hang" }, hang, hang], times: "always" }],
    });
    const call = await callerFor(server.url, dialect, { idleMs: 200 }).call();
    expect(errorOf(call).code).toBe("stalled");
    expect(retriesOf(call).map(({ maxAttempts }) => maxAttempts)).toEqual([3, 3]);
    const partial = call.outcome.ok ? [] : call.outcome.partial;
    expect(partial).toMatchObject([{ type: "text", text: expect.stringMatching(/^w0 /) }]);
  });

  it("never shows the key, even if the server does", async () => {
    const message = `Incorrect API key provided: ${testKey}. Also Bearer ${testKey}`;
    const server = await serve({ script: [{ ...good, fault: { kind: "status", status: 401, message } }] });
    const call = await callerFor(server.url, dialect).call();
    expect(errorOf(call).message).toMatch(/Incorrect API key provided/);
    expect(JSON.stringify(call)).not.toContain(testKey);
  });
});

describe.each(dialects)("tool calls in a response, %s", (dialect) => {
  it("are omitted and counted if the token limit cut them off", async () => {
    const content = ["Writing.", { tool: "Write", inputJson: ['{"path":"a",', '"text":"', "hel", 'lo"}'] }];
    const fault: Fault = { kind: "truncated-tool-json", end: "max-tokens" };
    const server = await serve({ script: [{ content, fault }] });
    const { outcome } = await callerFor(server.url, dialect).call();
    expect(outcome).toMatchObject({
      ok: true,
      stopReason: "max_tokens",
      // Google does not say how many calls were cut off.
      incompleteCalls: dialect === "gemini" ? 0 : 1,
      message: { content: [{ type: "text", text: "Writing." }] },
    });
  });

  it("are omitted if the connection broke while they were being sent", async () => {
    const content = ["Writing.", { tool: "Write", inputJson: ['{"path":"a",', '"text":"', "hel", 'lo"}'] }];
    const fault: Fault = { kind: "truncated-tool-json", end: "close" };
    const server = await serve({ script: [{ reply: { content }, faults: [fault], times: "always" }] });
    const call = await callerFor(server.url, dialect, { retry: { maxAttempts: 1 } }).call();
    expect(call.outcome).toMatchObject({ ok: false, partial: [{ type: "text", text: "Writing." }] });
    expect(call.outcome.ok ? [] : call.outcome.partial.map(({ type }) => type)).toEqual(["text"]);
  });

  it("are omitted and counted if their input is not an object", async () => {
    const content = [
      { tool: "A", inputJson: '["x"]' },
      { tool: "B", inputJson: '{"ok":true}' },
      { tool: "C", inputJson: '{"broken' },
    ];
    const server = await serve({ script: [{ content }] });
    const { outcome } = await callerFor(server.url, dialect).call();
    expect(outcome).toMatchObject({
      ok: true,
      incompleteCalls: 2,
      message: { content: [{ type: "tool_call", callId: "call_1", name: "B", inputJson: '{"ok":true}' }] },
    });
  });

  it("keep unique ids if the provider repeats an id, and may have a megabyte of input", async () => {
    const twice = await serve({
      script: [
        {
          content: [
            { tool: "A", input: { a: 1 } },
            { tool: "A", input: { a: 2 } },
          ],
          fault: { kind: "same-tool-id-twice" },
        },
      ],
    });
    const same = await callerFor(twice.url, dialect).call();
    expect(same.outcome).toMatchObject({
      ok: true,
      message: {
        content: [
          { callId: "call_0", inputJson: '{"a":1}' },
          { callId: "call_1", inputJson: '{"a":2}' },
        ],
      },
    });
    const large = await serve({
      script: [{ content: [{ tool: "A", input: { a: 1 } }], fault: { kind: "large-argument" } }],
    });
    const { outcome } = await callerFor(large.url, dialect).call();
    const [block] = outcome.ok ? outcome.message.content : [];
    expect(block?.type === "tool_call" && block.inputJson.length).toBeGreaterThan(1_000_000);
  });
});

describe.each(dialects)("damaged streams, %s", (dialect) => {
  it("have bytes that are not UTF-8 replaced with U+FFFD", async () => {
    const server = await serve({ script: [{ content: "before and after", fault: { kind: "invalid-utf8" } }] });
    const { outcome } = await callerFor(server.url, dialect).call();
    const [block] = outcome.ok ? outcome.message.content : [];
    expect(block?.type === "text" && block.text).toContain("\ufffd");
  });

  it("may contain any event twice", async () => {
    for (let event = 0; event < 9; event += 1) {
      const server = await serve({
        script: [{ content: [{ text: ["ab", "cd"] }], fault: { kind: "duplicate-event", event } }],
      });
      const { outcome } = await callerFor(server.url, dialect).call();
      const [block] = outcome.ok ? outcome.message.content : [];
      expect(block?.type === "text" && block.text, `event ${event}`).toMatch(/^(ab){1,2}(cd){1,2}$/);
    }
  });
});

describe("a slow server", () => {
  it("is not treated as silent, and neither is a request that waits for its connection", async () => {
    const pacing = { chunkMs: 300, chunkCharacters: 10 };
    const server = await serve({
      script: [
        { content: "This response, all in all, takes longer than the limit for silence.", pacing },
        { content: "quick" },
      ],
    });
    const connections = connectionsForTest({ maxConnections: 1 });
    const caller = callerFor(server.url, "anthropic", { idleMs: 1_500, connections });
    const [slow, waiting] = await Promise.all([caller.call(), caller.call()]);
    expect(slow.outcome.ok).toBe(true);
    expect(waiting.outcome).toMatchObject({ ok: true, message: { content: [{ text: "quick" }] } });
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1]);
  });
});

describe("an interrupted response", () => {
  it("is retried only as long as the budget allows", async () => {
    const limits = [500, { message: "The limit is 600 tokens." }] as const;
    const lost: Usage[] = [];
    const server = await serve({ script: () => ({ content: "word".repeat(100), fault: { kind: "missing-end" } }) });
    const repeat = async (usage: Usage) => {
      lost.push(usage);
      return limits[lost.length - 1] ?? 0;
    };
    const { outcome } = await callerFor(server.url, "anthropic").call({ repeat });
    expect(server.requests.map(({ body }) => (body as { max_tokens: number }).max_tokens)).toEqual([1_000, 500]);
    expect(lost.map(({ outputTokens }) => outputTokens)).toEqual([100, 100]);
    expect(outcome).toMatchObject({
      ok: false,
      error: { code: "budget", message: "The limit is 600 tokens." },
      usage: { outputTokens: 200 },
    });
  });

  it.each([
    ["after its headers", { kind: "close", afterBytes: 10 }, true],
    ["before its headers", { kind: "close" }, false],
    ["with an error status", { kind: "status", status: 503 }, false],
  ] as const)("is charged for its input if it was accepted: %s", async (_, fault, isCharged) => {
    const server = await serve({ script: () => ({ content: "word", fault }) });
    const lost: Usage[] = [];
    const repeat = async (usage: Usage) => {
      lost.push(usage);
      return { message: "No." };
    };
    await callerFor(server.url, "anthropic", { retry: { maxAttempts: 2 } }).call({ repeat });
    expect(lost.map(({ inputTokens }) => inputTokens > 0)).toEqual(isCharged ? [true] : []);
  });

  it("is charged for its input if it is abandoned before it begins", async () => {
    const controller = new AbortController();
    const server = await serve({ script: () => ({ content: "word", fault: { kind: "hang" } }) });
    const calling = callerFor(server.url, "anthropic").call({ signal: controller.signal });
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort();
    expect((await calling).outcome).toMatchObject({
      error: { code: "aborted" },
      usage: { inputTokens: expect.any(Number), outputTokens: 0 },
    });
  });

  it("is charged an estimate if the provider reported no usage", async () => {
    const fault: Fault = { kind: "close", afterBytes: 2_000 };
    const server = await serve({ script: () => ({ content: "word".repeat(1_000), fault }) });
    const { outcome, progress } = await callerFor(server.url, "openai").call({
      repeat: async () => ({ message: "No." }),
    });
    const received = progress.reduce((sum, event) => sum + ("text" in event ? event.text.length : 0), 0);
    expect(received).toBeGreaterThan(0);
    expect(outcome).toMatchObject({ ok: false, usage: { inputTokens: 25, outputTokens: Math.ceil(received / 4) } });
  });
});

describe("a server that sends its response byte by byte", () => {
  /** Sends the piece over and over, in intervals that are shorter than the limit of 100 ms for a silent server. */
  async function drip(status: number, piece: string): Promise<string> {
    const server = createServer((_, response) => {
      response.writeHead(status, { "content-type": "text/event-stream" });
      const timer = setInterval(() => response.write(piece), 20);
      response.on("close", () => clearInterval(timer));
    });
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.each(["x", "{", "data: "])("is treated as silent if it never ends a line: %j", async (piece) => {
    const call = await callerFor(await drip(200, piece), "anthropic", { idleMs: 100 }).call();
    expect(errorOf(call)).toMatchObject({ code: "stalled", message: expect.stringContaining("sent nothing for") });
  });

  it("is stopped by the total limit if it sends lines forever", async () => {
    const call = await callerFor(await drip(200, ": ping\n\n"), "anthropic", { totalMs: 200 }).call();
    expect(errorOf(call)).toMatchObject({ code: "stalled", message: expect.stringContaining("did not finish within") });
  });

  it.each(["x", "x\n"])("is reported by its status if that is an error: %j", async (piece) => {
    const call = await callerFor(await drip(400, piece), "anthropic", { idleMs: 100 }).call();
    expect(errorOf(call)).toMatchObject({ status: 400 });
  });
});
