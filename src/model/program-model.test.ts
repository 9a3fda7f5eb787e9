import { describe, expect, it } from "vitest";
import type { Model, ModelProgress, ModelRequest } from "../ports/index.ts";
import { type ModelOutcome, noUsage } from "../protocol/index.ts";
import type { Delay } from "./limits/delay.ts";
import { createLimiter } from "./limits/limiter.ts";
import { createProgramModel } from "./program-model.ts";
import { promptOf, realClock } from "./wire.test-support.ts";

const answer: ModelOutcome = {
  ok: true,
  message: { role: "assistant", content: [{ type: "text", text: "Yes." }] },
  stopReason: "end_turn",
  usage: { ...noUsage, inputTokens: 5, outputTokens: 1 },
  incompleteCalls: 0,
};

type Attempt = Model["call"];

/** Calls a program's model whose attempts are these functions. Its retries take no real time. */
async function call(attempts: readonly Attempt[], more: Partial<ModelRequest> = {}) {
  let used = 0;
  let waited = 0;
  const delays: number[] = [];
  const delay: Delay = (milliseconds) => {
    delays.push(milliseconds);
    waited += milliseconds;
    return Promise.resolve();
  };
  const model = createProgramModel(
    {
      describe: () => ({ provider: "mine", model: "m-1", dialect: "openai", window: 8_000, maxOutputTokens: 1_000 }),
      call(request, emit) {
        const attempt = attempts[Math.min(used, attempts.length - 1)];
        used += 1;
        return attempt!(request, emit);
      },
    },
    {
      limiter: createLimiter({ clock: { monotonic: () => waited }, delay }),
      clock: realClock,
      random: () => 0.5,
      retry: { maxAttempts: 3 },
    },
  );
  const progress: ModelProgress[] = [];
  const { prompt } = { prompt: { ...promptOf(), body: () => [Buffer.alloc(400)] } };
  const signal = new AbortController().signal;
  const request = { prompt, maxTokens: 100, callId: (index: number) => `call_${index}`, signal, ...more };
  const outcome = await model.call(request, (event) => progress.push(event));
  return { outcome, progress, delays, attempts: used };
}

const throwing = (thrown: unknown): Attempt => {
  return () => Promise.reject(thrown);
};
const answering: Attempt = () => Promise.resolve(answer);
const withFields = (message: string, fields: object) => Object.assign(new Error(message), fields);
const fetchFailed = (code: string) => new TypeError("fetch failed", { cause: withFields("no", { code }) });

describe("an error that a program's model throws", () => {
  it.each<[string, unknown, number]>([
    ["429 with its delay in `Headers`", { status: 429, headers: new Headers({ "retry-after": "7" }) }, 7_000],
    ["429 with its delay in an object", { statusCode: 429, responseHeaders: { "Retry-After-Ms": "900" } }, 900],
    [
      "a response as the cause",
      new Error("slow down", { cause: new Response("", { status: 429, headers: { "retry-after": "3" } }) }),
      3_000,
    ],
    ["429 without a delay", withFields("slow down", { status: 429 }), 375],
    ["529", withFields("overloaded", { status: 529 }), 375],
    ["500", withFields("oops", { status: 500 }), 375],
    ["a reset connection", fetchFailed("ECONNRESET"), 375],
    ["a connection that ended early", fetchFailed("UND_ERR_SOCKET"), 375],
    [
      "an error that is worth a retry according to the SDK",
      { statusCode: 418, message: "tea", isRetryable: true },
      375,
    ],
    ["an overload that the stream reports", { type: "overloaded_error", message: "Overloaded" }, 375],
    ["a rate limit that the stream reports", { code: "rate_limit_exceeded", message: "Too fast" }, 375],
    ["a status as the code of a report", { code: 503, message: "Unavailable", status: "UNAVAILABLE" }, 375],
  ])("is retried: %s", async (_, thrown, delay) => {
    const { outcome, progress, delays, attempts } = await call([throwing(thrown), answering]);
    expect(outcome).toEqual(answer);
    expect(attempts).toBe(2);
    expect(progress.map(({ type }) => type)).toContain("retried");
    expect(delays).toContain(delay);
  });

  it.each<[string, unknown, string, string]>([
    [
      "a wrong key",
      withFields('{"error":{"message":"bad key"}}', { status: 401 }),
      "auth",
      "denied access: bad key. Check the key that the program passes",
    ],
    [
      "an error body of an SDK",
      { status: 404, error: { type: "not_found_error", message: "model: m-1" } },
      "unknown_model",
      'no model named "m-1": model: m-1. Choose another one in the program.',
    ],
    [
      "a page that is not there",
      { status: 404, url: "https://api.example.com/v1", message: "" },
      "protocol",
      "api.example.com has no model API at this address (status 404). Check the base URL that the program passes",
    ],
    [
      "a nested error body",
      { status: 400, error: { type: "error", error: { message: "prompt is too long" } } },
      "context_overflow",
      "too long for m-1",
    ],
    [
      "a used-up credit",
      { statusCode: 429, responseBody: '{"error":{"type":"insufficient_quota"}}', isRetryable: true },
      "spend_cap",
      "credit and spending limit",
    ],
    [
      "an error that is not worth a retry according to the SDK",
      { statusCode: 500, message: "no", isRetryable: false },
      "server",
      "status 500: no",
    ],
    ["an address that never answered", fetchFailed("ECONNREFUSED"), "connection", "refused the connection"],
    ["a bug", new TypeError("x is not a function"), "protocol", "The program's model m-1 failed: x is not a function"],
    [
      "a missing file",
      withFields("ENOENT: no key.txt", { code: "ENOENT" }),
      "protocol",
      "failed: A file or program does not exist",
    ],
  ])("is not retried: %s", async (_, thrown, code, message) => {
    const { outcome, attempts } = await call([throwing(thrown)]);
    expect(outcome).toMatchObject({ ok: false, error: { code, message: expect.stringContaining(message) } });
    expect(attempts).toBe(1);
  });

  it("is reported after the last attempt, with the text so far and the tokens of all attempts", async () => {
    const half: Attempt = async (_, emit) => {
      emit({ type: "text.delta", text: "Half of it." });
      throw withFields("overloaded", { status: 529 });
    };
    const repeats: number[] = [];
    const repeat = async () => repeats.push(1) && 50;
    const { outcome, progress } = await call([half], { repeat });
    const message = "mine is overloaded: overloaded. Try again later or choose another model. (Tried 3 times.)";
    expect(outcome).toEqual({
      ok: false,
      error: { code: "overloaded", status: 529, message },
      partial: [{ type: "text", text: "Half of it." }],
      usage: { ...noUsage, inputTokens: 300, outputTokens: 9 },
    });
    expect(progress.filter(({ type }) => type === "retried")).toHaveLength(2);
    expect(repeats).toHaveLength(2);
  });

  it("is an abort if the signal has fired", async () => {
    const stop = new AbortController();
    const stopping: Attempt = async (_, emit) => {
      emit({ type: "text.delta", text: "Half" });
      stop.abort();
      throw stop.signal.reason;
    };
    const { outcome } = await call([stopping], { signal: stop.signal });
    expect(outcome).toMatchObject({ ok: false, error: { code: "aborted" }, partial: [{ text: "Half" }] });
  });
});

it("a refusal of thinking is answered with the prompt without it", async () => {
  const refused = throwing(withFields("bound to a different conversation", { status: 400 }));
  const bare = { ...promptOf("without"), body: () => [] };
  const seen: unknown[] = [];
  const second: Attempt = async ({ prompt }) => {
    seen.push(prompt);
    return answer;
  };
  const { outcome } = await call([refused, second], { withoutThinking: async () => bare });
  expect(outcome).toEqual(answer);
  expect(seen).toEqual([bare]);
});

it("a refused schema is left out, and limits on values are never passed on", async () => {
  const schemas: unknown[] = [];
  const properties = { n: { type: "number", minimum: 1 } };
  const answerSchema = { type: "object", properties, required: ["n"] };
  const refusing: Attempt = async (request) => {
    schemas.push(request.answerSchema);
    if (request.answerSchema) throw withFields("response_format is not supported", { status: 400 });
    return answer;
  };
  expect((await call([refusing], { answerSchema })).outcome).toEqual(answer);
  expect(schemas).toEqual([
    { type: "object", properties: { n: { type: "number" } }, required: ["n"], additionalProperties: false },
    undefined,
  ]);
});

it("a failure that the model returns is final", async () => {
  const failure: ModelOutcome = { ok: false, error: { code: "overloaded", message: "Full." }, partial: [] };
  const { outcome, attempts } = await call([async () => failure, answering]);
  expect(outcome).toEqual(failure);
  expect(attempts).toBe(1);
});

it("a notice is passed on once, and nothing after the end", async () => {
  let late: ((progress: ModelProgress) => void) | undefined;
  const telling: Attempt = async (_, emit) => {
    late = emit;
    for (const message of ["No seed.", "No seed."]) emit({ type: "notice", message });
    return answer;
  };
  const { progress } = await call([telling]);
  late?.({ type: "text.delta", text: "late" });
  expect(progress).toEqual([{ type: "sent" }, { type: "notice", message: "No seed." }]);
});
