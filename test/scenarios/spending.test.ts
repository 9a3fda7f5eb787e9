import { describe, expect, it } from "vitest";
import { answerApproval } from "../../src/app/commands/approvals.ts";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import type { RunUpdate } from "../../src/protocol/index.ts";
import { createApiServer, type Reply, type ReplyFunction } from "../../src/testing/index.ts";
import { asAfterKill, mainLines, newPlace, open, type Place, task, walk } from "./delegation-place.ts";

const bash = (command: string) => ({ name: "Bash", input: { command } });
const free = { sandbox: "off" } as const;

/** Runs a session over real HTTP, with a model that costs $3 (input) and $15 (output) per million tokens. */
async function talk(
  script: ReplyFunction | readonly Reply[],
  options: SessionOptions,
  at: Place = newPlace(),
  prompt = "MAIN: do it.",
) {
  const server = await createApiServer({ script });
  const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url, PATH: process.env["PATH"] };
  const session = await openSession({ ...at, model: "claude-sonnet-4-5", ...options, environment });
  const run = session.prompt(prompt);
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  await server.close();
  return { server, result, updates, sessionId: session.id, ...at };
}

const maxTokensOf = ({ body }: { readonly body: unknown }): number =>
  (body as { readonly max_tokens: number }).max_tokens;

describe("a response that the budget shortens", () => {
  const usage = { inputTokens: 500, cacheReadTokens: 0, cacheWriteTokens: 0 };

  it("is announced to the model, which is also told if the response was cut off", async () => {
    const { server, result } = await talk(
      [
        { content: [{ tool: "LS", input: { path: "." } }], usage: { ...usage, outputTokens: 4_000 } },
        {
          content: "I was going to say",
          stopReason: "max_tokens",
          usage: { ...usage, inputTokens: 50, outputTokens: 50 },
        },
        { content: "In short: done.", usage: { ...usage, outputTokens: 10 } },
      ],
      { settings: { budget: { tokens: 12_000 } } },
    );
    const [first, second, third] = server.requests;
    expect(maxTokensOf(first as never)).toBeLessThan(12_000);
    expect(maxTokensOf(second as never)).toBeLessThan(4_096);
    expect(second?.rawBody.toString()).toMatch(
      /The budget is almost used up: this response can have at most \d+ tokens\. Give your result now\./,
    );
    expect(third?.rawBody.toString()).toContain("Your response was cut short because the budget is almost used up.");
    expect(result).toMatchObject({ outcome: "succeeded", text: "In short: done." });
  });

  it("leaves the earlier bytes unchanged, so that they are read from the cache", async () => {
    const { server } = await talk([{ content: [{ tool: "LS", input: { path: "." } }] }, { content: "Done." }], {
      settings: { budget: { tokens: 30_000 } },
    });
    const [first, second] = server.requests;
    expect(maxTokensOf(first as never)).not.toBe(maxTokensOf(second as never));
    expect(second?.cache?.read).toBe((first?.cache?.read ?? 0) + (first?.cache?.written ?? 0));
  });
});

describe("interrupted responses", () => {
  it("are charged for the part that was received, and not retried if the budget has no room", async () => {
    let paid = 0;
    const { server, result } = await talk(
      (request) => {
        const outputTokens = Math.min(5_000, maxTokensOf(request));
        paid += outputTokens + 2_500;
        const usage = { inputTokens: 2_500, cacheReadTokens: 0, cacheWriteTokens: 0 };
        return { content: "word".repeat(outputTokens), usage, fault: { kind: "missing-end" } };
      },
      { settings: { budget: { tokens: 25_000 } } },
    );
    expect(result).toMatchObject({ outcome: "incomplete", reason: "budget" });
    expect(result.message).toContain("the limit is 25,000 tokens");
    expect(server.requests.length).toBeGreaterThan(1);
    expect(paid).toBeLessThanOrEqual(25_000);
    const { inputTokens, outputTokens } = result.usage;
    expect(inputTokens + outputTokens).toBe(paid);
  });
});

it("a request that is sent again is charged the prices of its prompt, not of both prompts together", async () => {
  const usage = { inputTokens: 60_000, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const { result } = await talk(
    [
      { content: "Broken", usage, fault: { kind: "missing-end" } },
      { content: "Done.", usage },
    ],
    { model: "claude-haiku-5-5", settings: { budget: { usd: 1 } } },
  );
  expect(result).toMatchObject({ outcome: "succeeded", usage: { inputTokens: 120_000 } });
  // Without the prices for prompts of more than 100,000 tokens.
  expect(result.costUsd).toBeCloseTo((120_000 * 0.1 + 200 * 0.5) / 1e6, 9);
});

describe("usage that a provider does not report properly", () => {
  const zero = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  it.each([
    ["zeros", zero],
    ["negative numbers", { ...zero, inputTokens: -500 }],
  ])("is estimated and charged if the provider reports %s", async (_, usage) => {
    let sent = 0;
    const { result, server } = await talk(
      ({ bodyBytes }) => {
        sent += Math.ceil(bodyBytes / 4);
        return { content: [{ tool: "Read", input: { file_path: "notes.txt", offset: sent } }], usage };
      },
      { settings: { budget: { tokens: 20_000 } } },
    );
    expect(result).toMatchObject({ outcome: "incomplete", reason: "budget" });
    expect(sent).toBeLessThanOrEqual(20_000);
    expect(sent).toBeGreaterThan(10_000);
    expect(server.requests.length).toBeGreaterThan(2);
  });
});

describe("a request in progress when the process was lost", () => {
  it("is charged its maximum cost, once, in the transcript and in the budget", async () => {
    const parts = { MAIN: [{ calls: [task("CHILD: look")] }], CHILD: [{ text: "Seen.", hangs: true }] };
    const { session, ...at } = await open(parts);
    const run = session.prompt("MAIN: do it.");
    let left: Place | undefined;
    for await (const update of run) {
      if (update.type !== "subagent.event" || update.event.type !== "text.delta" || left) continue;
      left = asAfterKill(at);
      run.stop("interrupted");
    }
    await session.close();
    if (left === undefined) throw new Error("the child never answered");
    const more = { at: left, resume: session.id };
    // After the charges for the main agent and the lost answer, another request does not fit into the budget.
    const again = await walk({ MAIN: [], CHILD: [] }, { ...more, settings: { budget: { tokens: 9_000 } } });
    expect(again.result).toMatchObject({ outcome: "incomplete", reason: "budget" });
    expect(again.result.message).toMatch(/of it estimated for requests whose responses were lost/);
    const charged = (): number =>
      mainLines(left as Place, session.id).filter(({ type }) => type === "spend.recorded").length;
    expect(charged()).toBe(0);
    const { result } = await walk(
      { MAIN: [{ text: "Well." }], CHILD: [{ text: "Seen." }] },
      { ...more, settings: { budget: { tokens: 60_000 } } },
    );
    expect(result.outcome).toBe("succeeded");
  });
});

describe("a limit in seconds", () => {
  const settings = { budget: { seconds: 1 }, ...free };
  const allowedTools = ["Bash(sleep:*)"];

  it.each([
    ["a model that does not answer", [{ text: "Slow", hangs: true }]],
    ["a command", [{ calls: [bash("sleep 60")] }]],
  ])("ends %s, and returns the work", async (_, steps) => {
    const began = performance.now();
    const { result, updates } = await walk({ MAIN: steps }, { settings, allowedTools });
    expect(performance.now() - began).toBeLessThan(8_000);
    expect(result).toMatchObject({ outcome: "incomplete", reason: "budget" });
    expect(result.message).toContain("the limit is 1.0 s");
    expect(updates.filter(({ type }) => type === "run.ended")).toHaveLength(1);
  });

  it("ends subagents too, and then their parent", async () => {
    const { result, updates } = await walk(
      { MAIN: [{ calls: [task("CHILD: wait")] }], CHILD: [{ calls: [bash("sleep 60")] }] },
      { settings, allowedTools },
    );
    expect(result).toMatchObject({ outcome: "incomplete", reason: "budget" });
    const ends = updates.flatMap((update) =>
      update.type === "subagent.event" && update.event.type === "run.ended" ? [update.event.reason] : [],
    );
    expect(ends).toEqual(["budget"]);
  });

  it("is paused during a request for approval, for the agent that asks and for its parent", async () => {
    const { session, home } = await open(
      {
        MAIN: [{ calls: [task("CHILD: make it")] }, { text: "Made." }],
        CHILD: [{ calls: [bash("mkdir one")] }, { text: "Done." }],
      },
      { onAsk: "wait", settings },
    );
    const run = session.prompt("MAIN: do it.");
    for await (const update of run) {
      const event = update.type === "subagent.event" ? update.event : update;
      if (event.type !== "approval.requested") continue;
      // Wait for longer than the limit.
      await new Promise((resolve) => setTimeout(resolve, 1_300));
      await answerApproval({ home, request: event.requestId, verb: "allow", by: "ana", project: false });
    }
    const result = await run.result;
    await session.close();
    expect(result).toMatchObject({ outcome: "succeeded", text: "Made." });
  });
});

it("a long prompt that is interrupted before the provider reports its usage is charged like a long prompt", async () => {
  const server = await createApiServer({
    script: (_, { turn }) => {
      if (turn === 1) {
        const usage = { inputTokens: 105_000, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
        return { content: [{ tool: "LS", input: { path: "." } }], usage };
      }
      run.stop("interrupted");
      return { content: "Never sent.", fault: { kind: "hang" } };
    },
  });
  const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url, PATH: process.env["PATH"] };
  const session = await openSession({ ...newPlace(), model: "claude-haiku-5-5", environment });
  const run = session.prompt("MAIN: do it.");
  const { costUsd = 0, reason } = await run.result;
  await session.close();
  await server.close();
  expect(reason).toBe("interrupted");
  expect(costUsd).toBeGreaterThan((2 * 105_000 * 0.5) / 1e6);
  expect(costUsd).toBeLessThan((2 * 106_000 * 0.5) / 1e6);
});

describe("a budget in dollars for a model whose long prompts cost more", () => {
  const words = (tokens: number): string => "word ".repeat(tokens);
  const model = "claude-haiku-5-5";

  it("refuses a first request that fits only at the prices of short prompts", async () => {
    // As a short prompt, 120,000 tokens would cost at most $0.05. They cost $0.06 even without a response.
    const run = (tokens: number) =>
      talk(
        [{ content: "Done." }],
        { model, settings: { budget: { usd: 0.055 } } },
        newPlace(),
        `MAIN: ${words(tokens)}`,
      );
    const long = await run(120_000);
    expect(long.result).toMatchObject({ outcome: "incomplete", reason: "budget", costUsd: 0 });
    expect(long.server.requests).toHaveLength(0);
    expect((await run(20_000)).result).toMatchObject({ outcome: "succeeded" });
  });

  it("refuses the next request after a resume, because the conversation is already long", async () => {
    const usage = { inputTokens: 105_000, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const first = await talk([{ content: "Done.", usage }], { model, settings: { budget: { usd: 1 } } });
    expect(first.result.costUsd).toBeCloseTo((105_000 * 0.5 + 10 * 2.5) / 1e6, 9);
    const { home, cwd, sessionId } = first;
    const again = (usd: number) =>
      talk([{ content: "Done.", usage }], { model, resume: sessionId, settings: { budget: { usd } } }, { home, cwd });
    // Another request costs at least $0.0525, and would cost at most $0.03 at the prices of short prompts.
    const refused = await again(0.0926);
    expect(refused.result).toMatchObject({ outcome: "incomplete", reason: "budget" });
    expect(refused.server.requests).toHaveLength(0);
    expect((await again(0.2)).result).toMatchObject({ outcome: "succeeded" });
  });
});
