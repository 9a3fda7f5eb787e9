import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callerFor, serve } from "../wire.test-support.ts";
import type { Delay } from "./delay.ts";
import { createLimiter, type Limiter, type Pass, type Ticket } from "./limiter.ts";

/** Creates a virtual clock. When nothing else can happen, the clock advances to the end of the earliest wait. */
function createVirtualTime(begin = 0) {
  let now = begin;
  let sleepers: { at: number; wake: () => void }[] = [];
  const delay: Delay = (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const sleeper = { at: now + milliseconds, wake: resolve };
      sleepers.push(sleeper);
      signal?.addEventListener("abort", () => {
        sleepers = sleepers.filter((other) => other !== sleeper);
        resolve();
      });
    });
  return {
    clock: { monotonic: () => now },
    delay,
    now: () => now,
    async run(until: Promise<unknown>): Promise<void> {
      let done = false;
      void until.finally(() => {
        done = true;
      });
      while (!done) {
        await new Promise((resolve) => setImmediate(resolve));
        if (done) return;
        const next = sleepers.reduce((first, other) => (other.at < first.at ? other : first), sleepers[0] ?? stuck());
        sleepers = sleepers.filter((other) => other !== next);
        now = next.at;
        next.wake();
      }
    },
  };
}

function stuck(): never {
  throw new Error("everything is blocked, and nothing waits for time");
}

/** Returns a new signal each time, because every run has its own signal. */
function free(): AbortSignal {
  return new AbortController().signal;
}

async function enter(limiter: Limiter): Promise<Pass> {
  const pass = await limiter.enter(limiter.ticket(), free());
  if (!pass) throw new Error("not aborted");
  return pass;
}

describe("the limiter", () => {
  it("sends all requests as long as none is refused", async () => {
    const limiter = createLimiter({ clock: { monotonic: () => 0 } });
    await Promise.all(Array.from({ length: 1_000 }, () => enter(limiter)));
    expect(limiter.state()).toMatchObject({
      capacity: Number.POSITIVE_INFINITY,
      active: 1_000,
      waiting: 0,
      held: false,
    });
  });

  it("delays all requests for as long as the provider asks, then sends one at a time", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    const passes = await Promise.all(Array.from({ length: 8 }, () => enter(limiter)));
    await time.run(time.delay(100));
    for (const pass of passes) pass.leave({ kind: "refused", waitMs: 400 });
    const entered: number[] = [];
    const all = Promise.all(
      Array.from({ length: 9 }, async () => {
        const pass = await enter(limiter);
        entered.push(time.now());
        await time.delay(100);
        // The limiter counts accepted requests; their answers take much longer.
        pass.taken();
        await time.delay(60_000);
        pass.leave({ kind: "answered" });
      }),
    );
    await time.run(all);
    // No request had been accepted before the refusal, so the limiter sends one at a time. After another period without
    // a refusal, it sends more.
    expect(entered).toEqual([500, 600, 700, 800, 900, 1_000, 1_000, 1_100, 1_200]);
  });

  it("sends half as many as were accepted before the first refusal, more with each acceptance, then one at a time", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    const taken = await Promise.all(Array.from({ length: 8 }, () => enter(limiter)));
    const refused = await Promise.all(Array.from({ length: 50 }, () => enter(limiter)));
    for (const pass of taken.slice(1)) pass.taken();
    await time.run(time.delay(100));
    for (const pass of refused) pass.leave({ kind: "refused", waitMs: 9_900 });
    // This request was sent before the refusal, but only now is it known that it was accepted.
    taken[0]?.taken();
    expect(limiter.state()).toMatchObject({ perPeriod: 8, active: 8 });
    const entered: number[] = [];
    const call = async () => {
      const pass = await enter(limiter);
      entered.push(time.now());
      await time.delay(100);
      pass.leave({ kind: "answered" });
    };
    await time.run(Promise.all(Array.from({ length: 6 }, call)));
    expect(entered).toEqual([10_000, 10_100, 10_100, 10_200, 10_300, 10_400]);
  });

  it("waits no longer than its timer even if the clock does not advance", async () => {
    const limiter = createLimiter({ clock: { monotonic: () => 0.1 } });
    (await enter(limiter)).leave({ kind: "refused", waitMs: 0.2 });
    expect(await enter(limiter)).toBeDefined();
  });

  it("counts only requests in flight at the first refusal", async () => {
    const limiter = createLimiter(createVirtualTime());
    for (let index = 0; index < 100; index += 1) (await enter(limiter)).leave({ kind: "answered" });
    const [taken, refused] = [await enter(limiter), await enter(limiter)];
    taken.taken();
    refused.leave({ kind: "refused", waitMs: 1_000 });
    expect(limiter.state()).toMatchObject({ perPeriod: 1, capacity: Number.POSITIVE_INFINITY });
  });

  it("learns how many requests a provider handles at once, if the rate is not the limit", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    const count = { answering: 0, refused: 0, finished: 0 };
    const call = async () => {
      const ticket = limiter.ticket();
      for (;;) {
        const pass = await limiter.enter(ticket, free());
        await time.delay(5);
        if (count.answering < 3) {
          count.answering += 1;
          pass?.taken();
          await time.delay(5_000);
          count.answering -= 1;
          count.finished += 1;
          return pass?.leave({ kind: "answered" });
        }
        count.refused += 1;
        pass?.leave({ kind: "refused", waitMs: 50 });
      }
    };
    const first = Array.from({ length: 20 }, call);
    await time.run(Promise.race(first));
    expect(limiter.state().capacity).toBe(3);
    const burst = count.refused;
    await time.run(Promise.all(first));
    expect(count).toMatchObject({ answering: 0, finished: 20 });
    expect(count.refused).toBe(burst);
  });

  it("forgets everything that it learned after a quiet period", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    (await enter(limiter)).leave({ kind: "refused", waitMs: 1_000 });
    expect(limiter.state().perPeriod).toBe(0);
    const use = async () => {
      for (let index = 0; index < 8; index += 1) {
        const pass = await enter(limiter);
        await time.delay(10_000);
        pass.leave({ kind: "answered" });
      }
    };
    await time.run(use());
    expect(limiter.state().perPeriod).toBe(Number.POSITIVE_INFINITY);
  });

  it("keeps the order of arrival, even after retries", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    const first = limiter.ticket();
    const pass = await limiter.enter(first, free());
    const order: string[] = [];
    const go = async (name: string, ticket: Ticket) => {
      const mine = await limiter.enter(ticket, free());
      order.push(name);
      await time.delay(10);
      mine?.leave({ kind: "answered" });
    };
    pass?.leave({ kind: "refused", waitMs: 100 });
    const all = Promise.all([go("second", limiter.ticket()), go("third", limiter.ticket()), go("first again", first)]);
    await time.run(all);
    expect(order).toEqual(["first again", "second", "third"]);
  });

  it("releases a request that is aborted while waiting, and its timer", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    (await enter(limiter)).leave({ kind: "refused", waitMs: 60_000 });
    const controller = new AbortController();
    const waiting = limiter.enter(limiter.ticket(), controller.signal);
    expect(limiter.state()).toMatchObject({ waiting: 1, held: true });
    controller.abort();
    expect(await waiting).toBeUndefined();
    await Promise.resolve();
    expect(limiter.state()).toMatchObject({ waiting: 0, held: false });
  });

  it("sends every request eventually, whatever happens to the others", async () => {
    const takes = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
    const kinds = fc.constantFrom("answered", "failed", "overloaded", "refused");
    const ends = fc.array(kinds, { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(ends, takes, fc.integer({ min: 1, max: 20 }), async (script, taken, callers) => {
        const time = createVirtualTime();
        const limiter = createLimiter(time);
        let next = 0;
        let finished = 0;
        const work = async (): Promise<void> => {
          const ticket = limiter.ticket();
          for (;;) {
            const pass = await limiter.enter(ticket, free());
            await time.delay(7);
            if (taken[next % taken.length]) pass?.taken();
            const kind = script[next++] ?? "answered";
            pass?.leave({ kind, waitMs: 50 });
            if (kind === "answered" || kind === "failed") break;
          }
          finished += 1;
        };
        await time.run(Promise.all(Array.from({ length: callers }, work)));
        expect(finished).toBe(callers);
        expect(limiter.state()).toMatchObject({ active: 0, waiting: 0 });
      }),
      { numRuns: 100 },
    );
  });

  it("gets twenty callers through at five requests a minute, with about one refusal a minute, in order", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    const perWindow = 5;
    const windowMs = 60_000;
    const taken = new Map<number, { ok: number; refused: number }>();
    const served: number[] = [];
    const most = { attempts: 0 };
    const call = async (caller: number) => {
      const ticket = limiter.ticket();
      for (let attempts = 1; ; attempts += 1) {
        most.attempts = Math.max(most.attempts, attempts);
        const pass = await limiter.enter(ticket, free());
        const window = Math.floor(time.now() / windowMs);
        const count = taken.get(window) ?? { ok: 0, refused: 0 };
        taken.set(window, count);
        const ok = count.ok < perWindow;
        count[ok ? "ok" : "refused"] += 1;
        await time.delay(2_000);
        if (ok) {
          served.push(caller);
          return pass?.leave({ kind: "answered" });
        }
        pass?.leave({ kind: "refused", waitMs: (window + 1) * windowMs - time.now() });
      }
    };
    await time.run(Promise.all(Array.from({ length: 20 }, (_, caller) => call(caller))));
    expect(served).toEqual(Array.from({ length: 20 }, (_, caller) => caller));
    expect(time.now()).toBeLessThan(4 * windowMs);
    const later = [...taken.entries()].filter(([window]) => window > 0).map(([, { refused }]) => refused);
    // The limit is unknown during the first burst, and known from then on.
    expect(Math.max(...later)).toBeLessThanOrEqual(1);
    expect(most.attempts).toBeLessThanOrEqual(5);
  });
});

describe("the limiter with an overloaded provider", () => {
  it("delays only the request that failed", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    const ticket = limiter.ticket();
    const failed = await limiter.enter(ticket, free());
    failed?.leave({ kind: "overloaded", waitMs: 500 });
    const again = limiter.enter(ticket, free()).then(() => time.now());
    await enter(limiter);
    expect(time.now()).toBe(0);
    await time.run(again);
    expect(await again).toBe(500);
  });

  it("delays all requests after three failures in a row, and then sends one at a time", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    const passes = await Promise.all(Array.from({ length: 3 }, () => enter(limiter)));
    await time.run(time.delay(100));
    for (const pass of passes) pass.leave({ kind: "overloaded", waitMs: 500 });
    const entered: number[] = [];
    const call = async () => {
      const pass = await enter(limiter);
      entered.push(time.now());
      await time.delay(100);
      pass.taken();
    };
    await time.run(Promise.all(Array.from({ length: 4 }, call)));
    expect(entered).toEqual([600, 700, 700, 800]);
    expect(limiter.state()).toMatchObject({ perPeriod: Number.POSITIVE_INFINITY, capacity: Number.POSITIVE_INFINITY });
  });

  it("does not delay requests while others are accepted in between", async () => {
    const limiter = createLimiter(createVirtualTime());
    for (let index = 0; index < 9; index += 1) {
      const [failing, accepted] = [await enter(limiter), await enter(limiter)];
      failing.leave({ kind: "overloaded", waitMs: 500 });
      accepted.taken();
    }
    expect(limiter.state()).toMatchObject({ active: 9, held: false });
    expect(await enter(limiter)).toBeDefined();
  });

  it("does not delay requests while an earlier one may still be accepted", async () => {
    const limiter = createLimiter(createVirtualTime());
    await enter(limiter);
    const failing = await Promise.all(Array.from({ length: 5 }, () => enter(limiter)));
    for (const pass of failing) pass.leave({ kind: "overloaded", waitMs: 500 });
    expect(await enter(limiter)).toBeDefined();
  });

  it("counts a request that was accepted but failed during its response", async () => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    for (let index = 0; index < 3; index += 1) {
      const pass = await enter(limiter);
      pass.taken();
      pass.leave({ kind: "overloaded", waitMs: 500 });
    }
    const next = enter(limiter);
    expect(limiter.state().held).toBe(true);
    await time.run(next);
    expect(time.now()).toBe(500);
  });
});

interface Admission {
  readonly capacity: number;
  readonly serviceMs: number;
  readonly waitMs: number;
  readonly agents: number;
  readonly steps: number;
  /** Whether the headers arrive when the request is accepted or together with the whole answer. */
  readonly headers: "early" | "late";
}

describe("the limiter with a server that handles a fixed number of requests at a time", () => {
  const admit = async ({ capacity, serviceMs, waitMs, agents, steps, headers }: Admission) => {
    const time = createVirtualTime();
    const limiter = createLimiter(time);
    const count = { inside: 0, served: 0, refused: 0, early: 0 };
    const request = async () => {
      const ticket = limiter.ticket();
      for (let toldUntil = 0; ; ) {
        const pass = await limiter.enter(ticket, free());
        if (time.now() < toldUntil) count.early += 1;
        await time.delay(2);
        if (count.inside < capacity) {
          count.inside += 1;
          if (headers === "early") pass?.taken();
          await time.delay(serviceMs);
          count.inside -= 1;
          count.served += 1;
          await time.delay(2);
          return pass?.leave({ kind: "answered" });
        }
        count.refused += 1;
        await time.delay(2);
        toldUntil = time.now() + waitMs;
        pass?.leave({ kind: "refused", waitMs });
      }
    };
    const agent = async () => {
      for (let step = 0; step < steps; step += 1) await request();
    };
    await time.run(Promise.all(Array.from({ length: agents }, agent)));
    return { ...count, tookMs: time.now(), idealMs: Math.ceil((agents * steps) / capacity) * serviceMs };
  };

  it.each<Admission>([
    { capacity: 12, agents: 100, steps: 1, serviceMs: 600, waitMs: 1_000, headers: "late" },
    { capacity: 12, agents: 100, steps: 1, serviceMs: 600, waitMs: 1_000, headers: "early" },
    { capacity: 12, agents: 100, steps: 3, serviceMs: 600, waitMs: 5_000, headers: "late" },
    { capacity: 4, agents: 20, steps: 3, serviceMs: 8_000, waitMs: 1_000, headers: "early" },
    { capacity: 1, agents: 10, steps: 3, serviceMs: 300, waitMs: 1_000, headers: "late" },
    { capacity: 100, agents: 300, steps: 3, serviceMs: 1_000, waitMs: 1_000, headers: "early" },
  ])("uses the full capacity and retries no refused request early: %j", async (admission) => {
    const { agents, capacity, steps } = admission;
    const { served, refused, early, tookMs, idealMs } = await admit(admission);
    expect({ served, early }).toEqual({ served: agents * steps, early: 0 });
    expect(tookMs / idealMs).toBeLessThan(1.6);
    // The requests in the first burst beyond the server's capacity are refused, and so are the few later ones that test
    // for a higher capacity.
    expect(refused - (agents - capacity)).toBeLessThanOrEqual(4 + served / (8 * capacity));
  });
});

interface Case {
  readonly name: string;
  readonly holdAt: (now: number) => number;
  readonly begin?: number;
  readonly earlyMs?: number;
}

describe("the limiter with a server that accepts five requests a second", () => {
  const perWindow = 5;
  const windowMs = 1_000;
  const untilWindowEnd = (now: number) => windowMs - (now % windowMs);
  const told = { "how many milliseconds to wait": untilWindowEnd, "to wait a second": () => 1_000 };
  /** Conditions to test: a burst may coincide with the end of a window, and timers may fire early on a busy machine. */
  const conditions = { "": {}, " late in a second": { begin: 993 }, " by early timers": { begin: 700, earlyMs: 20 } };
  const cases = Object.entries(told).flatMap(([what, holdAt]) =>
    Object.entries(conditions).map(([how, condition]) => ({ name: `${what}${how}`, holdAt, ...condition })),
  );

  it.each<Case>(cases)("gets one refusal a second with 40 agents: $name", async ({ holdAt, begin, earlyMs }) => {
    const time = createVirtualTime(begin);
    const early: Delay = (milliseconds, signal) => time.delay(Math.max(1, milliseconds - (earlyMs ?? 0)), signal);
    const limiter = createLimiter({ clock: time.clock, delay: early });
    let drawn = 0;
    const between = (least: number, most: number) => {
      drawn += 7_919;
      return least + (drawn % (most - least + 1));
    };
    const taken = new Map<number, number>();
    const refused: number[] = [];
    const request = async () => {
      const ticket = limiter.ticket();
      for (;;) {
        const pass = await limiter.enter(ticket, free());
        await time.delay(between(1, 4));
        const window = Math.floor(time.now() / windowMs);
        const count = taken.get(window) ?? 0;
        if (count < perWindow) {
          taken.set(window, count + 1);
          await time.delay(between(5, 100));
          pass?.taken();
          await time.delay(between(0, 5_000));
          return pass?.leave({ kind: "answered" });
        }
        refused[window] = (refused[window] ?? 0) + 1;
        pass?.leave({ kind: "refused", waitMs: holdAt(time.now()) });
      }
    };
    const agent = async () => {
      await time.delay(between(0, 50));
      for (let step = 0; step < 3; step += 1) await request();
    };
    await time.run(Promise.all(Array.from({ length: 40 }, agent)));
    const counts = Array.from(refused, (count = 0) => count);
    const later = counts.slice(counts.findIndex((count) => count > 0) + 1);
    expect(Math.max(...later)).toBe(1);
    expect([...taken.values()].reduce((sum, count) => sum + count, 0)).toBe(120);
    // The server alone needs 24 seconds for 120 requests.
    expect(time.now()).toBeLessThan(40_000);
  });
});

describe("the limiter over HTTP", () => {
  it("is shared by all callers, and they all finish although the server handles only five requests at a time", async () => {
    let inWindow = 0;
    const server = await serve({
      script: () => {
        inWindow += 1;
        if (inWindow <= 5) return { content: "ok" };
        inWindow = 0;
        return { content: "", fault: { kind: "status", status: 429, retryAfter: { milliseconds: 20 } } };
      },
    });
    const caller = callerFor(server.url, "anthropic");
    const calls = await Promise.all(Array.from({ length: 20 }, () => caller.call()));
    expect(calls.every(({ outcome }) => outcome.ok)).toBe(true);
    expect(caller.limiter.state()).toMatchObject({ active: 0, waiting: 0 });
    expect(server.requests.some(({ status }) => status === 429)).toBe(true);
  });
});
