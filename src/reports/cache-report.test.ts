import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DurableEvent, Head, Prices, Usage } from "../protocol/index.ts";
import { Thread } from "../runs/index.ts";
import { createTranscript, type Transcript } from "../transcript/index.ts";
import { explainCache, reportCache } from "./cache-report.ts";

const head: Head = {
  provider: "anthropic",
  model: "m-1",
  dialect: "anthropic",
  tools: [{ name: "Read", description: "Reads a file", inputSchema: { type: "object" } }],
  system: "You are precise.",
  systemContext: "Platform: linux",
  userContext: "Answer briefly.",
};
const helperHead: Head = { ...head, tools: [], system: "You help." };
const prices: Prices = { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5 };

describe("the explanation of cache misses", () => {
  const cases: [Partial<Head>, string][] = [
    [
      { tools: [{ name: "Read", description: "Reads files", inputSchema: { type: "object" } }] },
      "tools_model_thinking",
    ],
    [{ model: "m-2" }, "tools_model_thinking"],
    [{ thinking: "adaptive" }, "tools_model_thinking"],
    [{ system: "You are terse." }, "system"],
    [{ systemContext: "Platform: darwin" }, "system_context"],
    [{ userContext: "Answer at length." }, "user_context"],
  ];
  it.each(cases)("names the changed part: %j", async (change, dimension) => {
    const play = await begin();
    await play.ask("main", { read: 0, written: 1_000 });
    await play.setHead("main", { ...head, ...change });
    await play.ask("main", { read: 0, written: 1_100 });
    await play.ask("main", { read: 1_100, written: 100 });
    const [first, second, third] = await play.explain();
    expect([first?.broken, third?.broken]).toEqual([undefined, undefined]);
    expect(second?.broken).toMatchObject({ dimension });
    const { firstDifference = -1, before, after } = second?.broken ?? {};
    // The excerpts begin at most 20 bytes before the byte that differs.
    const from = Math.min(20, firstDifference);
    expect(after?.slice(0, from)).toBe(before?.slice(0, from));
    expect(after?.[from]).not.toBe(before?.[from]);
    expect(third?.tokens).toMatchObject({ ideal: 1_100, missed: 0 });
  });

  it("blames the messages after a compaction", async () => {
    const play = await begin();
    await play.ask("main", { read: 0, written: 1_000 });
    await play.record("main", { type: "conversation.compacted", summary: "So far.", kept: 0, trigger: "auto" });
    await play.ask("main", { read: 300, written: 100 });
    await play.record("main", { type: "thinking.dropped", serializer: 1 });
    await play.ask("main", { read: 400, written: 100 });
    const [, second, third] = await play.explain();
    const before = expect.stringContaining("Question 1");
    expect(second?.broken).toMatchObject({ dimension: "messages", change: "compaction", before });
    expect(third?.broken).toBeUndefined();
  });

  it("compares a request that was sent again without thinking as it was accepted", async () => {
    const play = await begin();
    await play.ask("main", { read: 0, written: 1_000, thinks: true });
    await play.ask("main", { read: 1_000, written: 100 });
    await play.askAgain("main", { read: 300, written: 800 });
    await play.ask("main", { read: 1_100, written: 100 });
    const [, second, third, fourth] = await play.explain();
    expect(second?.broken).toBeUndefined();
    const before = expect.stringContaining("Hm.");
    expect(third?.broken).toMatchObject({ dimension: "messages", change: "thinking", before });
    expect(fourth?.broken).toBeUndefined();
    expect([second, third, fourth].map((each) => each?.isChanged)).toEqual([false, false, false]);
  });

  it("distinguishes an expired, unready or missing cache from changed bytes", async () => {
    const play = await begin();
    await play.ask("main", { read: 0, written: 2_000 });
    play.pass(6 * 60_000);
    await play.ask("main", { read: 0, written: 2_100 });
    await play.ask("main", { read: 0, written: 2_200 });
    await play.spawn("a1", "a2");
    await play.askTogether("a1", "a2", { read: 0, written: 3_000 });
    const requests = await play.explain();
    expect(requests.map(({ agentId, reason }) => [agentId, reason])).toEqual([
      ["main", undefined],
      ["main", "expired"],
      ["main", "provider"],
      ["a1", undefined],
      ["a2", "early"],
    ]);
    expect(requests.every(({ broken }) => broken === undefined)).toBe(true);
    expect(requests[1]?.tokens).toMatchObject({ ideal: 2_000, missed: 2_000 });
  });

  it("distinguishes a short or changed lifetime from changed bytes", async () => {
    const play = await begin();
    const long: Head = { ...head, cacheLifetime: "1h" };
    await play.setHead("main", long);
    await play.ask("main", { read: 0, written: 2_000, hour: 2_000 });
    play.pass(59 * 60_000);
    await play.ask("main", { read: 2_000, written: 100, hour: 100 });
    play.pass(61 * 60_000);
    await play.ask("main", { read: 0, written: 2_200, hour: 2_200 });
    await play.setHead("main", head);
    await play.ask("main", { read: 0, written: 2_300 });
    await play.setHead("main", long);
    await play.ask("main", { read: 2_300, written: 100, hour: 100 });
    const requests = await play.explain();
    expect(requests.map(({ reason, keptFor, lifetimeChange }) => [reason, keptFor, lifetimeChange])).toEqual([
      [undefined, undefined, undefined],
      [undefined, undefined, undefined],
      ["expired", "1h", undefined],
      ["lifetime", "1h", { before: "1h", after: "5m" }],
      [undefined, undefined, { before: "5m", after: "1h" }],
    ]);
    expect(requests.every(({ broken }) => broken === undefined)).toBe(true);
    expect(requests[2]?.tokens).toMatchObject({ written: 2_200, written1h: 2_200 });
  });

  it("expects no cached tokens below the model's minimum", async () => {
    const play = await begin({ cacheMinimumTokens: 4_096 });
    await play.ask("main", { read: 0, written: 0, plain: 2_000 });
    await play.ask("main", { read: 0, written: 0, plain: 3_000 });
    await play.ask("main", { read: 0, written: 4_200 });
    await play.ask("main", { read: 4_200, written: 900 });
    const requests = await play.explain();
    expect(requests.map(({ reason, belowMinimum, tokens }) => [reason, belowMinimum, tokens?.ideal])).toEqual([
      [undefined, 4_096, 0],
      [undefined, 4_096, 0],
      [undefined, undefined, 0],
      [undefined, undefined, 4_200],
    ]);
    const { total, belowMinimum } = await reportCache(play.path);
    expect(total).toMatchObject({ idealReadTokens: 4_200, baseTokens: { spent: 11_795, ideal: 11_795 } });
    expect(belowMinimum).toEqual([{ model: "m-1", minimumTokens: 4_096, requests: 4, tooShort: 2 }]);
  });

  it("still reports misses for a model with a minimum", async () => {
    const play = await begin({ cacheMinimumTokens: 512 });
    await play.ask("main", { read: 0, written: 800 });
    await play.ask("main", { read: 0, written: 900 });
    expect((await play.explain())[1]).toMatchObject({ reason: "provider", tokens: { missed: 800 } });
    expect((await reportCache(play.path)).belowMinimum).toEqual([]);
  });

  it("assumes no minimum for a model whose minimum is unknown", async () => {
    const play = await begin();
    await play.ask("main", { read: 0, written: 800 });
    await play.ask("main", { read: 0, written: 900 });
    expect((await play.explain())[1]).toMatchObject({ reason: "small", tokens: { missed: 800 } });
    expect((await reportCache(play.path)).belowMinimum).toEqual([]);
  });

  it("counts tools that a subagent shares with its parent as readable", async () => {
    const play = await begin();
    const shared = { name: "Read", description: "Reads. ".repeat(500), inputSchema: { type: "object" } } as const;
    const task = { name: "Task", description: "Delegates.", inputSchema: { type: "object" } } as const;
    await play.setHead("main", { ...head, tools: [shared, task] });
    await play.ask("main", { read: 0, written: 2_000 });
    await play.spawn("a1");
    await play.setHead("a1", { ...helperHead, tools: [shared] });
    await play.ask("a1", { read: 0, written: 2_000 });
    const [, first] = await play.explain();
    expect(first?.reason).toBe("provider");
    expect(first?.tokens?.missed).toBeGreaterThan(1_700);
    expect(first?.tokens?.missed).toBeLessThan(2_000);
  });

  it("names an agent that begins differently from the previous agent of its type", async () => {
    const play = await begin();
    await play.spawn("a1", "a2");
    await play.ask("a1", { read: 0, written: 2_000 });
    await play.setHead("a2", { ...helperHead, systemContext: "Platform: linux, today" });
    await play.ask("a2", { read: 0, written: 2_000 });
    expect((await play.explain())[1]?.broken).toMatchObject({ dimension: "system_context" });
  });

  it("does not blame a provider that reports no cache, and detects a changed transcript", async () => {
    const play = await begin();
    await play.ask("main", { read: 0, written: 0, plain: 2_000 });
    await play.ask("main", { read: 0, written: 0, plain: 2_100 });
    expect((await play.explain()).map(({ reason, isChanged }) => [reason, isChanged])).toEqual([
      [undefined, false],
      ["unreported", false],
    ]);
    writeFileSync(play.path, readFileSync(play.path, "utf8").replace("Question 2", "Question X"));
    expect((await play.explain()).map(({ isChanged }) => isChanged)).toEqual([false, true]);
  });
});

describe("the report", () => {
  it("contains tokens by kind and costs: actual, without a cache and ideal", async () => {
    const play = await begin();
    await play.ask("main", { read: 0, written: 1_000 });
    await play.spawn("a1");
    await play.ask("a1", { read: 600, written: 400 });
    await play.ask("main", { read: 0, written: 1_500, output: 10 });
    const { total, agents } = await reportCache(play.path);
    expect(agents.map(({ agentId, requests }) => [agentId, requests])).toEqual([
      ["main", 2],
      ["a1", 1],
    ]);
    expect(total.usage).toEqual({ inputTokens: 0, cacheReadTokens: 600, cacheWriteTokens: 2_900, outputTokens: 10 });
    expect(agents[0]).toMatchObject({
      idealReadTokens: 1_000,
      baseTokens: { spent: 3_125, withoutCache: 2_500, ideal: 1_975 },
    });
    expect(agents[0]?.usd?.spent).toBeCloseTo((2_500 * 5 + 10 * 20) / 1e6, 9);
    expect(agents[0]?.usd?.withoutCache).toBeCloseTo((2_500 * 4 + 10 * 20) / 1e6, 9);
    expect(agents[0]?.usd?.ideal).toBeCloseTo((1_000 * 0.4 + 1_500 * 5 + 10 * 20) / 1e6, 9);
    const sum = (pick: (one: (typeof agents)[number]) => number) => agents.reduce((left, one) => left + pick(one), 0);
    expect(total.idealReadTokens).toBe(sum(({ idealReadTokens }) => idealReadTokens));
    expect(total.usd?.ideal).toBeCloseTo(
      sum(({ usd }) => usd?.ideal ?? 0),
      9,
    );
  });

  it("applies the one-hour price to tokens kept for an hour, even if they were missed", async () => {
    const play = await begin();
    await play.setHead("main", { ...head, cacheLifetime: "1h" });
    await play.ask("main", { read: 0, written: 1_000, hour: 1_000 });
    await play.ask("main", { read: 0, written: 1_500, hour: 1_200 });
    const { total } = await reportCache(play.path);
    expect(total.usage).toMatchObject({ cacheWriteTokens: 2_500, cacheWrite1hTokens: 2_200 });
    const spent = 2_200 * 2 + 300 * 1.25;
    expect(total.baseTokens).toEqual({ spent, withoutCache: 2_500, ideal: spent - 1_000 * 1.9 });
    expect(total.usd?.spent).toBeCloseTo((2_200 * 8 + 300 * 5) / 1e6, 9);
    expect(total.usd?.ideal).toBeCloseTo((1_200 * 8 + 300 * 5 + 1_000 * 0.4) / 1e6, 9);
  });

  it("contains no cost if a price is unknown, and includes the summary request", async () => {
    const play = await begin();
    await play.record("main", { ...started("main"), runId: "r2" });
    const usage = { inputTokens: 50, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 5 };
    const compacted = { type: "conversation.compacted", summary: "So far.", kept: 0, trigger: "auto" } as const;
    await play.record("main", { ...compacted, usage, milliseconds: 1 });
    const { total } = await reportCache(play.path);
    expect(total).toMatchObject({ requests: 1, usage });
    expect(total.usd).toBeUndefined();
  });
});

interface Counts {
  readonly read: number;
  readonly written: number;
  /** Number of written tokens that are kept for an hour. */
  readonly hour?: number;
  readonly plain?: number;
  readonly output?: number;
  readonly thinks?: boolean;
}

/** Creates a session on disk, as runs write it, with a clock that the test advances. */
async function begin({ cacheMinimumTokens }: { readonly cacheMinimumTokens?: number } = {}) {
  const root = mkdtempSync(join(tmpdir(), "retinue-cache-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "project");
  mkdirSync(cwd);
  let now = 1_700_000_000_000;
  const clock = { now: () => now, monotonic: () => now };
  const session = await createTranscript({ home: join(root, "home"), cwd, sessionId: "s1", clock });
  const threads = new Map<string, Thread>();
  let questions = 0;
  const threadOf = (agentId: string): Thread => {
    const thread = threads.get(agentId) ?? new Thread(agentId, session);
    threads.set(agentId, thread);
    return thread;
  };
  const record = async (agentId: string, ...events: DurableEvent[]): Promise<void> => {
    now += 10;
    await threadOf(agentId).record(events);
  };
  const setHead = async (agentId: string, own: Head): Promise<void> =>
    record(agentId, { type: "head.set", hash: await threadOf(agentId).keepHead(own) });
  const send = async (agentId: string): Promise<string> => {
    questions += 1;
    await record(agentId, said(`Question ${questions}`), { type: "model.requested", turn: questions });
    return threadOf(agentId).newestPrompt?.fingerprint() ?? "";
  };
  const answer = (agentId: string, counts: Counts, fingerprint: string): Promise<void> =>
    record(agentId, ended(counts, fingerprint));
  await record("main", birth(session, cwd));
  await setHead("main", head);
  await record("main", { ...started("main"), prices, cacheMinimumTokens });
  return {
    path: session.path ?? "",
    record,
    setHead,
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
    ask: async (agentId: string, counts: Counts) => answer(agentId, counts, await send(agentId)),
    /** The provider refuses the first attempt because of its thinking. */
    askAgain: async (agentId: string, counts: Counts) => {
      await send(agentId);
      await record(agentId, { type: "thinking.dropped", serializer: 1, resends: questions });
      await answer(agentId, counts, threadOf(agentId).newestPrompt?.fingerprint() ?? "");
    },
    askTogether: async (left: string, right: string, counts: Counts) => {
      const fingerprints = [await send(left), await send(right)];
      await answer(left, counts, fingerprints[0] ?? "");
      await answer(right, counts, fingerprints[1] ?? "");
    },
    spawn: async (...agentIds: string[]) => {
      for (const agentId of agentIds) {
        await setHead(agentId, helperHead);
        await record(agentId, { ...started(agentId), prices, cacheMinimumTokens });
      }
    },
    explain: () => explainCache(session.path ?? ""),
  };
}

function birth({ sessionId }: Transcript, cwd: string): DurableEvent {
  return { type: "session.created", sessionId, cwd, version: "0", serializer: 1 };
}

function started(agentId: string): Extract<DurableEvent, { type: "run.started" }> {
  return {
    type: "run.started",
    runId: `r-${agentId}`,
    agentId,
    agentType: agentId === "main" ? "main" : "helper",
    kind: "fresh",
    requestedModel: null,
    provider: "anthropic",
    model: "m-1",
    modelReason: "test",
    permissionMode: "default",
    maxTurns: 10,
  };
}

function said(text: string): DurableEvent {
  return { type: "prompt.received", content: [{ type: "text", text }], from: "person" };
}

function ended(
  { read, written, hour, plain = 0, output = 0, thinks = false }: Counts,
  fingerprint: string,
): DurableEvent {
  const origin = { provider: "anthropic", model: "m-1" };
  const thinking = { type: "thinking", text: "Hm.", signature: "sig", origin } as const;
  const usage: Usage = {
    inputTokens: plain,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    ...(hour === undefined ? {} : { cacheWrite1hTokens: hour }),
    outputTokens: output,
  };
  return {
    type: "model.ended",
    turn: 1,
    message: { role: "assistant", content: [...(thinks ? [thinking] : []), { type: "text", text: "Yes." }] },
    stopReason: "end_turn",
    incompleteCalls: 0,
    usage,
    milliseconds: 1,
    fingerprint,
  };
}
