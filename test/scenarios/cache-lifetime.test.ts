import { describe, expect, it } from "vitest";
import { explainCache, reportCache, type SessionOptions } from "../../src/app/index.ts";
import type { Prices, RunResult, Settings } from "../../src/protocol/index.ts";
import type { RecordedRequest } from "../../src/testing/index.ts";
import { forkCall, one, prefixOf, saying, stage, unmarked } from "./fork-place.ts";

const minute = 60_000;
const prices: Prices = { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5 };
const model = "claude-sonnet-5-5";
const hour: Settings = { cache: { lifetime: "1h" } };

/** Starts a server and a program that share one clock, which the test advances. */
async function begin(...[parts, options]: Parameters<typeof stage>) {
  let time = 1_700_000_000_000;
  const clock = { now: () => time, monotonic: () => time };
  const on = await stage(parts, { ...options, now: clock.now });
  const open = ({ settings, ...rest }: SessionOptions) =>
    on.open({
      clock,
      model,
      settings: { providers: { anthropic: { prices: { [model]: prices } } }, ...settings },
      ...rest,
    });
  const pass = (milliseconds: number): void => {
    time += milliseconds;
  };
  return { on, open, pass };
}

const lifetimes = ({ rawBody }: RecordedRequest): string[] =>
  [...rawBody.toString("utf8").matchAll(/"cache_control":\{"type":"ephemeral"(,"ttl":"1h")?\}/g)].map(([, ttl]) =>
    ttl === undefined ? "5m" : "1h",
  );

/** Returns what the provider charges for these requests according to its own records. */
function billOf(requests: readonly RecordedRequest[], { usage: { outputTokens } }: RunResult): number {
  const input = requests.reduce((sum, { cache }) => {
    const { prompt = 0, read = 0, written = 0, written1h = 0 } = cache ?? {};
    return sum + (prompt - read - written) * 4 + read * 0.4 + (written - written1h) * 5 + written1h * 8;
  }, 0);
  return (input + outputTokens * 20) / 1e6;
}

describe("a conversation with a cache lifetime of an hour", () => {
  it.each<[string, Settings, boolean]>([
    ["is read after twenty minutes, at the price of an hour", hour, true],
    ["has expired after twenty minutes if it is kept for five", {}, false],
  ])("%s", async (_, settings, isKept) => {
    const { on, open, pass } = await begin({ MAIN: saying({ content: "One." }, { content: "Two." }) });
    const session = await open({ settings });
    const first = await session.prompt("MAIN: do it.").result;
    pass(20 * minute);
    const second = await session.prompt("And now?").result;
    await session.close();
    const [before, after] = on.requests("MAIN").map(one);
    expect(after?.cache?.read).toBe(isKept ? before?.cache?.prompt : 0);
    expect(first.usage.cacheWrite1hTokens).toBe(isKept ? before?.cache?.written : undefined);
    for (const [request, result] of [[before, first] as const, [after, second] as const]) {
      expect(result.costUsd).toBeCloseTo(billOf([one(request)], result), 9);
    }
    const explained = await explainCache(session.transcriptPath ?? "");
    expect(explained.map(({ reason, keptFor }) => [reason, keptFor])).toEqual([
      [undefined, undefined],
      isKept ? [undefined, undefined] : ["expired", "5m"],
    ]);
  });

  it("keeps the lifetime after a restart unless another one is set", async () => {
    const { on, open, pass } = await begin({ MAIN: saying({ content: "One." }, { content: "Two." }) });
    const session = await open({ settings: hour });
    await session.prompt("MAIN: do it.").result;
    await session.close();
    pass(20 * minute);
    const again = await open({ resume: session.id });
    await again.prompt("And now?").result;
    await again.close();
    const [first, second] = on.requests("MAIN").map(one);
    expect(new Set(lifetimes(one(second)))).toEqual(new Set(["1h"]));
    expect(second?.cache?.read).toBe(first?.cache?.prompt);
  });

  it("can get another lifetime after a restart: the bytes stay the same, and the change is explained", async () => {
    const { on, open, pass } = await begin({
      MAIN: saying({ content: "One." }, { content: "Two." }),
    });
    const session = await open({ settings: hour });
    await session.prompt("MAIN: do it.").result;
    await session.close();
    pass(20 * minute);
    const again = await open({ resume: session.id, settings: { cache: { lifetime: "5m" } } });
    const events: string[] = [];
    const run = again.prompt("And now?");
    for await (const { type } of run) events.push(type);
    await run.result;
    await again.close();
    const [first, second] = on.requests("MAIN").map(one);
    expect(new Set(lifetimes(one(first)))).toEqual(new Set(["1h"]));
    expect(new Set(lifetimes(one(second)))).toEqual(new Set(["5m"]));
    expect(unmarked(one(second)).startsWith(prefixOf(one(first)))).toBe(true);
    expect(second?.cache?.read).toBe(first?.cache?.prompt);
    expect(events).not.toContain("cache.missed");
    const explained = await explainCache(session.transcriptPath ?? "");
    expect(explained.map(({ lifetimeChange, reason }) => [lifetimeChange, reason])).toEqual([
      [undefined, undefined],
      [{ before: "1h", after: "5m" }, undefined],
    ]);
    const { total } = await reportCache(session.transcriptPath ?? "");
    const accounts = [first, second].map((request) => request?.cache);
    const sum = accounts.reduce((so, account) => so + (account?.read ?? 0) / 10 + 1.25 * (account?.written ?? 0), 0);
    expect(total.usage.cacheWrite1hTokens).toBe(first?.cache?.written);
    expect(total.baseTokens.spent).toBe(Math.round(sum + 0.75 * (first?.cache?.written ?? 0)));
  });

  it("shares the cached messages with forks, whose own messages, like other agents', are kept for five minutes", async () => {
    const call = { tool: "Read", input: { file_path: "notes.txt" } };
    const plain = forkCall("PLAIN: look", { subagent_type: "general-purpose" });
    const { on, open } = await begin({
      MAIN: saying({ content: ["Two.", forkCall("ONE: a"), plain] }, { content: "Seen." }, { content: "Done." }),
      ONE: saying({ content: [call] }, { content: "One is done." }),
    });
    const session = await open({ settings: hour });
    const result = await session.prompt("MAIN: do it.").result;
    await session.close();
    expect(result.outcome).toBe("succeeded");
    expect(on.server.requests.filter(({ refusal }) => refusal !== undefined)).toEqual([]);
    const [first, second] = on.requests("ONE").map(one);
    expect(lifetimes(one(first))).toEqual(["1h", "1h", "5m", "5m"]);
    expect(lifetimes(one(second))).toEqual(["1h", "1h", "5m", "5m"]);
    const origin = on.requests("MAIN").map(one);
    expect(first?.cache?.read).toBe(origin[0]?.cache?.prompt);
    expect(first?.cache?.written1h).toBeGreaterThan(0);
    expect(first?.cache?.written1h).toBeLessThan(first?.cache?.written ?? 0);
    expect(second?.cache).toMatchObject({ read: first?.cache?.prompt, written1h: 0 });
    const isPlain = (request: RecordedRequest): boolean => unmarked(request).includes('{"type":"text","text":"PLAIN');
    const others = origin.map((request) => [isPlain(request), [...new Set(lifetimes(request))].join()]);
    expect(others.toSorted()).toEqual([
      [false, "1h"],
      [false, "1h"],
      [true, "5m"],
    ]);
  });

  it("has no lifetime in a wire format that does not support it", async () => {
    const { on, open } = await begin({ MAIN: saying({ content: "One." }) }, { wire: "openai" });
    const session = await open({ settings: hour, model: "gpt-6-sol" });
    await session.prompt("MAIN: do it.").result;
    await session.close();
    expect(unmarked(one(on.requests("MAIN")[0]))).not.toMatch(/"ttl"|cache_control/);
  });
});
