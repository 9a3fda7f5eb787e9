import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ModelProgress } from "../ports/index.ts";
import { type Dialect, dialects } from "../protocol/index.ts";
import { createApiServer, type Reply } from "../testing/index.ts";
import { messagesUrl } from "./providers/endpoint.ts";
import { providerInfo } from "./providers/provider-info.ts";
import { receiveAnswer, type Verdict } from "./transport/receive-answer.ts";
import { callerFor, promptOf, providerAt, testKey, textDeltas } from "./wire.test-support.ts";
import { createReader } from "./wire-model.ts";

/** Returns the bytes that a server actually sends for a reply. */
async function streamOf(reply: Reply, dialect: Dialect): Promise<Buffer> {
  const server = await createApiServer({ script: [reply] });
  const response = await fetch(messagesUrl(server.url, dialect, "test-model"), {
    method: "POST",
    body: Buffer.concat(promptOf().body(dialect, 1_000)),
    headers: {
      "content-type": "application/json",
      "x-api-key": testKey,
      "anthropic-version": "2023-06-01",
      "x-goog-api-key": testKey,
      authorization: `Bearer ${testKey}`,
    },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  await server.close();
  expect(response.status).toBe(200);
  return bytes;
}

/** Reads a stream, and its end unless it is cut. */
function readIn(dialect: Dialect, chunks: Iterable<Buffer>, isCut = false) {
  const progress: ModelProgress[] = [];
  const origin = { provider: "p", model: "m" };
  const options = {
    origin,
    callId: (index: number) => `c${index}`,
    emit: (event: ModelProgress) => progress.push(event),
  };
  const reader = createReader[dialect](options);
  const info = providerInfo(providerAt("http://localhost", dialect), "m");
  const limits = { maxAnswerBytes: 1_000_000, now: () => 0 };
  const receiver = receiveAnswer({ status: 200, headers: {} }, { reader, info, ...limits });
  let verdict: Verdict | undefined;
  for (const chunk of chunks) verdict ??= receiver.data(chunk);
  if (!isCut) verdict ??= receiver.end(true);
  return { verdict, answer: reader.answer(), progress };
}

/** Compares as text, because a deep comparison of thousands of readings is slow. */
function sameAs(whole: unknown, reading: unknown): boolean {
  return JSON.stringify(reading) === JSON.stringify(whole);
}

const reply: Reply = {
  content: [
    { thinking: ["Grüße, ", "考え中"], signature: "c2ln" },
    { text: ["emoji 👩‍👩‍👧‍👦", " 🙂", " 你好 \u2028 end\r\n", 'quotes " \\ '] },
    { tool: "Read", inputJson: ['{"path":"ä', '.ts","n":1.0', "}"] },
    { tool: "LS", inputJson: "" },
  ],
};

describe.each(dialects)("a stream split anywhere, %s", (dialect) => {
  it("produces the same response wherever it is split in two", async () => {
    const bytes = await streamOf(reply, dialect);
    const whole = readIn(dialect, [bytes]);
    expect(whole.verdict).toBe("complete");
    expect(whole.answer.message.content.filter(({ type }) => type === "tool_call").length).toBe(2);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const reading = readIn(dialect, [bytes.subarray(0, cut), bytes.subarray(cut)]);
      if (!sameAs(whole, reading)) expect(reading, `cut at ${cut}`).toEqual(whole);
    }
  });

  it("produces the same response byte by byte or in random pieces", async () => {
    const bytes = await streamOf(reply, dialect);
    const whole = readIn(dialect, [bytes]);
    expect(
      readIn(
        dialect,
        Array.from(bytes, (byte) => Buffer.of(byte)),
      ),
    ).toEqual(whole);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 30 }), (sizes) => {
        const chunks: Buffer[] = [];
        for (let at = 0, index = 0; at < bytes.length; index += 1) {
          const size = sizes[index % sizes.length] ?? 1;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(readIn(dialect, chunks)).toEqual(whole);
      }),
      { numRuns: 50 },
    );
  });

  it("is complete only at its end marker", async () => {
    const bytes = await streamOf(reply, dialect);
    const markers = {
      anthropic: '"message_stop"',
      openai: "[DONE]",
      responses: '"response.completed"',
      gemini: '"finishReason"',
    };
    const marker = bytes.lastIndexOf(markers[dialect]);
    for (let cut = 0; cut < marker; cut += 7)
      expect(readIn(dialect, [bytes.subarray(0, cut)], true).verdict).toBeUndefined();
  });
});

describe("surrogates", () => {
  const half = (text: string) => text.replace(/[\ud800-\udfff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
  const events = (texts: readonly string[]) =>
    texts.map((text) => `data: {"choices":[{"delta":{"content":"${half(text)}"}}]}\n\n`).join("");
  const end = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

  it("that are split between two deltas are shown together", () => {
    const { answer, progress } = readIn("openai", [Buffer.from(events(["a\ud83d", "\ude42b"]) + end)]);
    expect(answer.message.content).toEqual([{ type: "text", text: "a🙂b" }]);
    expect(progress).toEqual([
      { type: "text.delta", text: "a" },
      { type: "text.delta", text: "🙂b" },
    ]);
  });

  it("that have no counterpart become U+FFFD, so that the response can be sent back", () => {
    const { answer } = readIn("openai", [Buffer.from(events(["x\ud83d", "y\ude42"]) + end)]);
    expect(answer.message.content).toEqual([{ type: "text", text: "x\ufffdy\ufffd" }]);
  });
});

describe("on the wire", () => {
  it("one byte per packet gives the same text", async () => {
    const server = await createApiServer({ script: [{ content: "naïve 🙂 你好", fault: { kind: "split" } }] });
    const call = await callerFor(server.url, "anthropic").call();
    await server.close();
    expect(textDeltas(call)).toBe("naïve 🙂 你好");
  });
});
