import { describe, expect, it } from "vitest";
import { createDeferred } from "../../lib/index.ts";
import type { ModelOutcome } from "../../protocol/index.ts";
import { type Fault, messagesOf, type RecordedRequest, type Reply } from "../../testing/index.ts";
import { connectionsForTest, promptOf, providerAt, realClock, serve } from "../wire.test-support.ts";
import { createWireModel } from "../wire-model.ts";
import { createLimiter } from "./limiter.ts";

/** Calls a model, by default with real waits. All calls share one limiter, as all agents in a process do. */
function createModel(url: string, limiter = createLimiter({ clock: realClock })) {
  const model = createWireModel({
    provider: providerAt(url, "anthropic"),
    model: "test-model",
    limiter,
    clock: realClock,
    connections: connectionsForTest(),
    retry: { baseMs: 200 },
  });
  return (text: string, onRetry: () => void = () => {}): Promise<ModelOutcome> => {
    const request = { prompt: promptOf(text), maxTokens: 1_000, callId: String, signal: new AbortController().signal };
    return model.call(request, (event) => event.type === "retried" && onRetry());
  };
}

function textOf(request: RecordedRequest): string {
  return messagesOf(request)[0]?.text ?? "";
}

describe("a request that failed at the provider", () => {
  /** Returns the order in which the server receives two requests, the first of which fails once. */
  const orderAfter = async (fault: Fault) => {
    const server = await serve({
      script: (_, { ordinal }): Reply => ({ content: "ok", ...(ordinal === 1 ? { fault } : {}) }),
    });
    const call = createModel(server.url);
    let failed = () => {};
    const hasFailed = new Promise<void>((resolve) => {
      failed = resolve;
    });
    const first = call("first", failed);
    await hasFailed;
    const outcomes = await Promise.all([first, call("second")]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true]);
    return server.requests.map(textOf);
  };

  it.each<Fault>([
    { kind: "status", status: 500 },
    { kind: "status", status: 503 },
    { kind: "status", status: 503, errorType: "overloaded_error" },
    { kind: "status", status: 529 },
    { kind: "error-event" },
    { kind: "error-event", errorType: "api_error" },
  ])("does not delay others: %j", async (fault) => {
    expect(await orderAfter(fault)).toEqual(["first", "second", "first"]);
  });

  it.each<Fault>([
    { kind: "status", status: 429 },
    { kind: "status", status: 429, retryAfter: { milliseconds: 50 } },
    { kind: "status", status: 500, retryAfter: { milliseconds: 50 } },
    { kind: "status", status: 503, retryAfter: { milliseconds: 50 } },
    { kind: "status", status: 529, retryAfter: { milliseconds: 50 } },
    { kind: "error-event", errorType: "rate_limit_error" },
  ])("delays others if the provider limits requests or says when to retry: %j", async (fault) => {
    expect(await orderAfter(fault)).toEqual(["first", "first", "second"]);
  });
});

describe("many agents with a server that fails every seventh request", () => {
  it("keep working while individual requests wait", async () => {
    const fault: Fault = { kind: "status", status: 503, errorType: "overloaded_error" };
    const server = await serve({
      script: (_, { ordinal }): Reply => (ordinal % 7 === 0 ? { content: "", fault } : { content: "ok" }),
    });
    // No wait ends before the test lets time pass.
    const { promise: timePasses, resolve: letTimePass } = createDeferred<void>();
    const limiter = createLimiter({ clock: { monotonic: () => 0 }, delay: () => timePasses });
    const call = createModel(server.url, limiter);
    const agent = (name: number) => {
      const { promise: isWaiting, resolve: wait } = createDeferred<"waits">();
      const work = async () => {
        const outcomes: boolean[] = [];
        for (let step = 0; step < 3; step += 1) {
          outcomes.push((await call(`agent ${name}, step ${step}`, () => wait("waits"))).ok);
        }
        return outcomes;
      };
      const done = work();
      return { done, waitsOrEnds: Promise.race([isWaiting, done]) };
    };
    const agents = Array.from({ length: 16 }, (_, name) => agent(name));
    // Agents without a failed request finish all their turns while the others wait.
    const before = await Promise.all(agents.map(({ waitsOrEnds }) => waitsOrEnds));
    const waiting = before.filter((state) => state === "waits").length;
    expect(waiting).toBeGreaterThan(0);
    expect(waiting).toBe(server.requests.filter(({ status }) => status === 503).length);
    letTimePass();
    const outcomes = await Promise.all(agents.map(({ done }) => done));
    expect(outcomes.flat().filter(Boolean).length).toBe(48);
    expect(server.requests.length).toBe(48 + server.requests.filter(({ status }) => status === 503).length);
  });
});

describe("many agents with a server that handles four requests at a time", () => {
  it("use capacity as it becomes free, and never retry a refused request early", async () => {
    const [capacity, waitMs, calls] = [4, 200, 32];
    const refusal: Fault = { kind: "status", status: 429, retryAfter: { milliseconds: waitMs } };
    const served: string[] = [];
    const inside: (() => void)[] = [];
    // The oldest request ends soon if the server is full, and much later if capacity stays unused.
    let unused = 0;
    let timer: NodeJS.Timeout | undefined;
    const settle = (): void => {
      clearTimeout(timer);
      if (inside.length === 0) return;
      const isFull = inside.length === capacity || served.length + inside.length === calls;
      const end = (): void => {
        if (!isFull) unused += 1;
        inside.shift()?.();
        settle();
      };
      timer = setTimeout(end, isFull ? 50 : 5 * waitMs);
    };
    const server = await serve({
      script: async (request): Promise<Reply> => {
        if (inside.length >= capacity) return { content: "", fault: refusal };
        const released = createDeferred<void>();
        inside.push(released.resolve);
        settle();
        await released.promise;
        served.push(textOf(request));
        return { content: "ok" };
      },
    });
    const call = createModel(server.url);
    const outcomes = await Promise.all(Array.from({ length: calls }, (_, index) => call(`call ${index}`)));
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(new Set(served).size).toBe(calls);
    const refused = server.requests.filter(({ status }) => status === 429);
    for (const request of refused) {
      const isRetry = (other: RecordedRequest) => other.ordinal > request.ordinal && textOf(other) === textOf(request);
      expect((server.requests.find(isRetry)?.arrivedAt ?? 0) - request.arrivedAt).toBeGreaterThanOrEqual(waitMs);
    }
    expect(refused.length).toBeGreaterThanOrEqual(calls - 2 * capacity);
    // Without a limiter, most requests would be refused many times.
    expect(refused.length).toBeLessThan(calls * 2);
    // Once the limiter has found the capacity, it uses it.
    expect(unused).toBeLessThan(calls / 4);
  });
});
