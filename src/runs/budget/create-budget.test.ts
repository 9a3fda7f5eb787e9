import { describe, expect, it } from "vitest";
import { createDeferred } from "../../lib/index.ts";
import { noUsage, type Usage } from "../../protocol/index.ts";
import type { Budget, BudgetLimits, BudgetRefusal, Reservation } from "./budget.ts";
import { endingOf } from "./budget-text.ts";
import { createBudget } from "./create-budget.ts";

const still = { monotonic: () => 0 };

function session(limits: BudgetLimits, maxSpawns?: number): Budget {
  return createBudget({ limits, maxSpawns, clock: still });
}

function usageOf(tokens: number): Usage {
  return { ...noUsage, inputTokens: tokens };
}

function granted(answer: Reservation | BudgetRefusal): Reservation {
  if (answer.refused) throw new Error(answer.message);
  return answer;
}

function refused(answer: Reservation | BudgetRefusal | undefined): BudgetRefusal {
  if (answer?.refused !== true) throw new Error("was not refused");
  return answer;
}

function spend(budget: Budget, tokens: number, usd?: number): void {
  const cost = usd === undefined ? {} : { usd };
  granted(budget.reserve({ tokens, ...cost })).settle({
    usage: usageOf(tokens),
    ...(usd === undefined ? {} : { costUsd: usd }),
  });
}

describe("a budget", () => {
  it("refuses nothing without limits, and records spending", () => {
    const budget = session({});
    for (let index = 0; index < 50; index += 1) spend(budget.child({}, "worker"), 1_000, 0.1);
    expect(budget.spent()).toEqual({ tokens: 50_000, usd: 5, turns: 50, seconds: 0, spawns: 0, unpriced: 0 });
  });

  it("counts every kind of token", () => {
    const budget = session({});
    const usage = { inputTokens: 1, cacheReadTokens: 20, cacheWriteTokens: 300, outputTokens: 4_000 };
    granted(budget.reserve({ tokens: 1 })).settle({ usage });
    expect(budget.spent()).toMatchObject({ tokens: 4_321, usd: 0, unpriced: 1 });
  });

  it("refuses a request that might exceed it, and states the numbers, the owner and the remedy", () => {
    const budget = session({ tokens: 50_000 });
    spend(budget, 41_200);
    granted(budget.reserve({ tokens: 3_000 }));
    expect(refused(budget.child({}, "reviewer").reserve({ tokens: 9_000 }))).toMatchObject({
      limit: "tokens",
      owner: "session",
      pending: false,
      message:
        "The session can't continue: the limit is 50,000 tokens (41,200 tokens used, 3,000 tokens reserved for requests in progress, 5,800 tokens left; the next request needs 9,000 tokens). To raise it, set budget.tokens in your settings.",
    });
  });

  it("applies a subagent's own limit and every ancestor's", () => {
    const budget = session({ usd: 1 });
    const outer = budget.child({ usd: 0.5 }, "planner");
    const inner = outer.child({ usd: 0.6 }, "reviewer");
    spend(inner, 1, 0.45);
    const refusal = refused(inner.reserve({ tokens: 1, usd: 0.1 }));
    expect(refusal).toMatchObject({ limit: "usd", owner: "planner" });
    expect(refusal.message).toContain("The agent planner can't continue: the limit is $0.5000 ($0.4500 used");
    expect(refusal.message).toContain('change "budget: {usd: …}" in the definition of planner');
    spend(budget, 1, 0.55);
    expect(refused(budget.reserve({ tokens: 1, usd: 0.001 })).owner).toBe("session");
    expect(granted(budget.reserve({ tokens: 1, usd: 0 }))).toBeDefined();
  });

  it("charges costs beyond the reservation, and then refuses requests", () => {
    const budget = session({ tokens: 100 });
    granted(budget.reserve({ tokens: 90 })).settle({ usage: usageOf(500) });
    expect(budget.left().tokens).toEqual({ owner: "session", limit: 100, used: 500, reserved: 0, left: 0 });
    expect(refused(budget.reserve({ tokens: 0 })).limit).toBe("tokens");
  });

  it("gets back cancelled amounts; only the first settle or cancel of a reservation has an effect", () => {
    const budget = session({ tokens: 100, turns: 1 });
    const reservation = granted(budget.reserve({ tokens: 100 }));
    expect(refused(budget.reserve({ tokens: 1 })).pending).toBe(true);
    reservation.cancel();
    reservation.settle({ usage: usageOf(100) });
    expect(budget.spent()).toMatchObject({ tokens: 0, turns: 0 });
    const next = granted(budget.reserve({ tokens: 100 }));
    next.settle({ usage: usageOf(10) });
    next.settle({ usage: usageOf(10) });
    next.cancel();
    expect(budget.spent()).toMatchObject({ tokens: 10, turns: 1 });
    expect(refused(budget.reserve({ tokens: 1 }))).toMatchObject({ limit: "turns", pending: false });
  });

  it("says that a call is refused if the agent can continue without it", () => {
    const { message } = refused(session({ tokens: 100 }).reserve({ tokens: 101, isCall: true }));
    expect(message).toMatch(/^The session can't make this call: .* 100 tokens left; it needs 101 tokens\)\./);
  });

  it("refuses a model without a known price if the limit is in dollars", () => {
    const child = session({ usd: 2 }).child({}, "reviewer");
    const refusal = refused(child.reserve({ tokens: 1, model: "llama" }));
    expect(refusal).toMatchObject({ limit: "usd", owner: "session", pending: false });
    expect(endingOf(refusal)).toMatchObject({ reason: "budget", limit: { owner: "session", unpriced: true } });
    expect(refusal.message).toMatch(/price of the model llama.*session's limit of \$2\.00.*prices/);
    const own = refused(session({}).child({ usd: 1 }, "reviewer").reserve({ tokens: 1 }));
    expect(own.message).toContain("agent reviewer's limit");
  });

  it("replaces invalid numbers with the reservation, and throws for an invalid estimate", () => {
    const budget = session({ tokens: 100, usd: 1 });
    granted(budget.reserve({ tokens: 60, usd: 0.6 })).settle({ usage: usageOf(Number.NaN), costUsd: Number.NaN });
    granted(budget.reserve({ tokens: 10, usd: 0.1 })).settle({ usage: usageOf(-5) });
    expect(budget.spent()).toMatchObject({ tokens: 70, usd: 0.7, unpriced: 0 });
    for (const wrong of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expect(() => budget.reserve({ tokens: wrong })).toThrow(RangeError);
      expect(() => budget.reserve({ tokens: 1, usd: wrong })).toThrow(RangeError);
    }
    expect(() => budget.child({ tokens: Number.NaN }, "x")).toThrow(RangeError);
  });

  it("adds dollars exactly", () => {
    const budget = session({ usd: 0.3 });
    for (let index = 0; index < 3; index += 1) spend(budget, 1, 0.1);
    expect(budget.left().usd).toEqual({ owner: "session", limit: 0.3, used: 0.3, reserved: 0, left: 0 });
    expect(granted(session({ usd: 0.29 }).reserve({ tokens: 1, usd: 0.29 }))).toBeDefined();
  });

  it("is restored from the spending in the journal", () => {
    const budget = session({ tokens: 100 });
    budget.restore({ tokens: 80, turns: 6, seconds: 6 });
    const child = budget.child({ turns: 2, seconds: 10 }, "reviewer");
    // The child's spending is part of the session's.
    child.restore({ tokens: 60, usd: 0.25, turns: 1, seconds: 4, spawns: 1 });
    expect(budget.spent()).toEqual({ tokens: 80, usd: 0, turns: 6, seconds: 6, spawns: 0, unpriced: 0 });
    expect(child.spent()).toEqual({ tokens: 60, usd: 0.25, turns: 1, seconds: 4, spawns: 1, unpriced: 0 });
    expect(refused(child.reserve({ tokens: 21 })).owner).toBe("session");
    spend(child, 20);
    expect(refused(child.reserve({ tokens: 0 }))).toMatchObject({ owner: "reviewer", limit: "turns" });
  });

  it("reports for each limit the budget with the least left", () => {
    const budget = session({ tokens: 100, turns: 10 }, 7);
    const child = budget.child({ tokens: 500, turns: 3, concurrent: 2 }, "reviewer");
    spend(budget, 30);
    expect(child.left()).toEqual({
      tokens: { owner: "session", limit: 100, used: 30, reserved: 0, left: 70 },
      turns: { owner: "reviewer", limit: 3, used: 0, reserved: 0, left: 3 },
      promptSpawns: { owner: "session", limit: 7, used: 0, reserved: 0, left: 7 },
      concurrent: { owner: "reviewer", limit: 2, used: 0, reserved: 0, left: 2 },
    });
  });
});

describe("spawning", () => {
  it("is refused above the limit per prompt, and the next prompt starts a new count", () => {
    const budget = session({}, 3);
    const child = budget.child({}, "planner");
    expect([budget.spawn(), child.spawn(), child.spawn()]).toEqual([undefined, undefined, undefined]);
    const refusal = refused(child.spawn());
    expect(refusal).toMatchObject({ limit: "promptSpawns", owner: "session" });
    expect(refusal.message).toMatch(/3 agents for one prompt.*subagents\.maxSpawns/);
    child.resetSpawns();
    expect(budget.spawn()).toBeUndefined();
    expect(budget.spent().spawns).toBe(4);
  });

  it("has a default limit of 100 per prompt", () => {
    const budget = session({});
    for (let index = 0; index < 100; index += 1) expect(budget.spawn()).toBeUndefined();
    expect(refused(budget.spawn()).limit).toBe("promptSpawns");
  });

  it("is reverted in all budgets if the agent never ran, even after a new prompt", () => {
    const budget = session({ spawns: 2 }, 1);
    const child = budget.child({}, "planner");
    expect(child.spawn()).toBeUndefined();
    child.unspawn();
    expect(budget.spent().spawns).toBe(0);
    expect(child.spawn()).toBeUndefined();
    budget.resetSpawns();
    child.unspawn();
    expect(child.spawn()).toBeUndefined();
    expect(refused(child.spawn()).limit).toBe("promptSpawns");
  });

  it("is refused above a limit for the whole tree, no matter how many prompts there were", () => {
    const budget = session({ spawns: 2 });
    const child = budget.child({ spawns: 1 }, "planner");
    expect(child.spawn()).toBeUndefined();
    expect(refused(child.spawn())).toMatchObject({ limit: "spawns", owner: "planner" });
    expect(budget.spawn()).toBeUndefined();
    budget.resetSpawns();
    expect(refused(budget.spawn())).toMatchObject({ limit: "spawns", owner: "session" });
    expect(refused(session({ concurrent: 0 }).spawn()).limit).toBe("concurrent");
  });
});

describe("a request whose response can be shorter", () => {
  const request = { tokens: 40_000, usd: 0.5, answer: { tokens: 32_000, least: 1_024, usdPerToken: 0.000015 } };

  it("reserves its full length if there is room", () => {
    const budget = session({ tokens: 100_000, usd: 1 });
    expect(granted(budget.reserve(request)).answerTokens).toBe(32_000);
    expect(granted(budget.reserve(request)).answerTokens).toBe(32_000);
    expect(budget.left().tokens).toMatchObject({ reserved: 80_000, left: 20_000 });
  });

  it("waits while others hold reservations, and is shortened only if it is alone", async () => {
    const budget = session({ tokens: 50_000 });
    const worker = budget.child({}, "worker");
    const first = granted(budget.reserve(request));
    expect(refused(worker.reserve(request))).toMatchObject({ limit: "tokens", pending: true });
    const waiting = worker.reserveInTurn(request, new AbortController().signal);
    first.settle({ usage: usageOf(39_000) });
    const second = granted(await waiting);
    expect(second.answerTokens).toBe(3_000);
    expect(budget.left().tokens).toMatchObject({ used: 39_000, reserved: 11_000, left: 0 });
  });

  it("is refused if too little is left for the shortest response, with the required amount", () => {
    const budget = session({ usd: 0.03 });
    const { message, pending } = refused(budget.reserve(request));
    expect(pending).toBe(false);
    // 8,000 tokens of input for $0.02, and 1,024 tokens of output.
    expect(message).toContain("$0.0300 left; the next request needs $0.0354)");
    expect(granted(session({ usd: 0.0354 }).reserve(request)).answerTokens).toBe(1_026);
  });

  it("is shortened to fit the tightest budget above it", () => {
    const outer = session({ tokens: 30_000 }).child({ usd: 0.05 }, "outer");
    expect(granted(outer.child({ tokens: 10_000 }, "inner").reserve(request)).answerTokens).toBe(2_000);
  });

  const { signal } = new AbortController();

  it("is charged for every attempt, and no attempt exceeds the limit", async () => {
    const budget = session({ tokens: 50_000 });
    const reservation = granted(budget.reserve(request));
    expect(await reservation.repeat({ usage: usageOf(20_000) }, signal)).toBe(22_000);
    expect(budget.left().tokens).toMatchObject({ used: 20_000, reserved: 30_000 });
    expect(await reservation.repeat({ usage: usageOf(22_500) }, signal)).toMatchObject({
      refused: true,
      limit: "tokens",
    });
    reservation.settle({ usage: usageOf(42_500) });
    expect(budget.spent()).toMatchObject({ tokens: 42_500, turns: 1 });
    expect(budget.left().tokens).toMatchObject({ reserved: 0, left: 7_500 });
  });

  it("waits before another attempt while others hold reservations", async () => {
    const budget = session({ tokens: 60_000 });
    const first = granted(budget.reserve({ ...request, tokens: 14_000, answer: { ...request.answer, tokens: 6_000 } }));
    const second = granted(budget.reserve(request));
    const again = first.repeat({ usage: usageOf(14_000) }, signal);
    second.settle({ usage: usageOf(30_000) });
    expect(await again).toBe(6_000);
    expect(budget.left().tokens).toMatchObject({ used: 44_000, reserved: 14_000 });
  });

  it("keeps the charges for its attempts when it is cancelled", async () => {
    const budget = session({ tokens: 50_000 });
    const reservation = granted(budget.reserve(request));
    await reservation.repeat({ usage: usageOf(20_000) }, signal);
    reservation.cancel();
    expect(budget.left().tokens).toMatchObject({ used: 20_000, reserved: 0 });
  });
});

describe("time", () => {
  it("is counted once for parallel agents, is not counted without agents, and leads to refusals at the limit", () => {
    let now = 0;
    const budget = createBudget({ limits: { seconds: 10 }, clock: { monotonic: () => now } });
    const one = budget.child({}, "one");
    const two = budget.child({ seconds: 3 }, "two");
    const first = one.work(() => {});
    now += 2_000;
    const second = two.work(() => {});
    now += 2_000;
    first();
    first();
    now += 1_000;
    expect(granted(one.reserve({ tokens: 1 }))).toBeDefined();
    expect(refused(two.reserve({ tokens: 1 }))).toMatchObject({ limit: "seconds", owner: "two", pending: false });
    second();
    now += 100_000;
    expect([budget.spent().seconds, one.spent().seconds, two.spent().seconds]).toEqual([5, 4, 3]);
    budget.work(() => {});
    now += 5_000;
    expect(refused(one.reserve({ tokens: 1 })).message).toContain("limit is 10.0 s (10.0 s used, 0 ms left)");
    expect(refused(one.spawn()).limit).toBe("seconds");
  });
});

describe("the time limit", () => {
  const clock = { monotonic: () => performance.now() };
  const over = (budget: Budget) => {
    const { promise, resolve } = createDeferred<BudgetRefusal>();
    return { promise, end: budget.work(resolve) };
  };

  it("is reported exactly once to every running agent", async () => {
    const budget = createBudget({ limits: { seconds: 0.05 }, clock });
    const works = [over(budget), over(budget.child({}, "worker"))];
    for (const { promise } of works) expect(await promise).toMatchObject({ limit: "seconds", owner: "session" });
    for (const { end } of works) end();
    expect(budget.spent().seconds).toBeGreaterThanOrEqual(0.05);
  });

  it("is reported immediately to agents that start later, and never to those that have stopped", async () => {
    const budget = createBudget({ limits: { seconds: 0.02 }, clock });
    let told = 0;
    const stop = budget.work(() => {
      told += 1;
    });
    stop();
    const worker = budget.child({ seconds: 0.01 }, "worker");
    const first = over(worker);
    expect(await first.promise).toMatchObject({ owner: "worker" });
    first.end();
    expect(await over(worker).promise).toMatchObject({ owner: "worker" });
    expect(told).toBe(0);
  });
});

describe("the 80% warning", () => {
  it("appears for limits on agents only if the budget's agent starts agents", () => {
    const budget = session({ spawns: 6 }, 5);
    const child = budget.child({}, "worker");
    for (let agent = 0; agent < 5; agent++) budget.spawn();
    expect(child.warning()).toBeUndefined();
    expect(budget.warning()?.message).toContain("5 agents, 100% of its limit of 5 agents for one prompt");
  });

  it("appears once for each limit when 80% of it is used", () => {
    const budget = session({ tokens: 100, turns: 2 }, 5);
    const child = budget.child({ tokens: 50 }, "reviewer");
    spend(child, 39);
    expect(child.warning()).toBeUndefined();
    spend(child, 1);
    expect(child.warning()).toEqual({
      cause:
        "The agent reviewer has used 40 tokens, 80% of its limit of 50 tokens. At the limit, it stops and keeps the work done so far. The session has used 2 requests, 100% of its limit of 2 requests. At the limit, it stops and keeps the work done so far.",
      message:
        'The agent reviewer has used 40 tokens, 80% of its limit of 50 tokens. At the limit, it stops and keeps the work done so far. To raise it, change "budget: {tokens: …}" in the definition of reviewer. The session has used 2 requests, 100% of its limit of 2 requests. At the limit, it stops and keeps the work done so far. To raise it, set budget.turns in your settings.',
    });
    expect([child.warning(), budget.warning()]).toEqual([undefined, undefined]);
    for (let index = 0; index < 4; index += 1) budget.spawn();
    expect(budget.warning()?.message).toContain("4 agents, 80% of its limit of 5 agents for one prompt");
    budget.resetSpawns();
    for (let index = 0; index < 4; index += 1) budget.spawn();
    expect(budget.warning()?.message).toContain("4 agents");
  });

  it("does not appear for a limit of zero", () => {
    expect(session({ usd: 0, spawns: 0 }, 0).warning()).toBeUndefined();
  });
});

describe("reserving in turn", () => {
  const free = new AbortController().signal;

  it("waits while other reservations are the only reason that there is no room", async () => {
    const budget = session({ tokens: 100 });
    const running = granted(budget.child({}, "a").reserve({ tokens: 80 }));
    const order: string[] = [];
    const wait = async (name: string, tokens: number): Promise<Reservation> => {
      const reservation = granted(await budget.child({}, name).reserveInTurn({ tokens }, free));
      order.push(name);
      return reservation;
    };
    const waiting = [wait("b", 60), wait("c", 30)];
    await Promise.resolve();
    expect(order).toEqual([]);
    running.settle({ usage: usageOf(10) });
    await Promise.all(waiting);
    expect(order).toEqual(["b", "c"]);
  });

  it("immediately refuses requests that can never fit, and later those that no longer fit", async () => {
    const budget = session({ tokens: 100 });
    expect(refused(await budget.reserveInTurn({ tokens: 101 }, free)).pending).toBe(false);
    const running = granted(budget.reserve({ tokens: 80 }));
    const waiting = budget.reserveInTurn({ tokens: 60 }, free);
    running.settle({ usage: usageOf(80) });
    expect(refused(await waiting)).toMatchObject({ limit: "tokens", pending: false });
  });

  it("drops an aborted request, and reserves nothing for it", async () => {
    const budget = session({ tokens: 100 });
    const running = granted(budget.reserve({ tokens: 80 }));
    const controller = new AbortController();
    const waiting = budget.reserveInTurn({ tokens: 60 }, controller.signal);
    controller.abort();
    expect(refused(await waiting).pending).toBe(true);
    running.cancel();
    expect(budget.left().tokens).toMatchObject({ used: 0, reserved: 0, left: 100 });
  });
});
