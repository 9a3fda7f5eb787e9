import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ApiServer, RecordedRequest, Reply, ReplyFunction } from "../../src/testing/index.ts";
import { createPlace, ended, resultOf, retinue, serve, startRetinue } from "./command-line.ts";

/** Dollars per million tokens. Nothing is read from a cache in these tests, so two prices are enough. */
const price = { input: 3, output: 15 };
const model = ["--model", "claude-sonnet-4-5"];

/** Computes what a provider would charge for each request, independently of Retinue's records. */
function createBill() {
  const requests: { readonly input: number; readonly output: number }[] = [];
  return {
    requests,
    charge(request: RecordedRequest, wantedOutput: number): Reply["usage"] & { readonly isCut: boolean } {
      const { max_tokens: longest } = request.body as { readonly max_tokens: number };
      const output = Math.min(wantedOutput, longest);
      const input = Math.ceil(request.bodyBytes / 4);
      requests.push({ input, output });
      const usage = { inputTokens: input, outputTokens: output, cacheReadTokens: 0, cacheWriteTokens: 0 };
      return { ...usage, isCut: output < wantedOutput };
    },
    usd: () => requests.reduce((sum, { input, output }) => sum + input * price.input + output * price.output, 0) / 1e6,
    tokens: () => requests.reduce((sum, { input, output }) => sum + input + output, 0),
  };
}

const agents = 20;
const tasks = Array.from({ length: agents }, (_, index) => ({
  tool: "Task",
  input: { description: `part ${index}`, prompt: `CHILD: part ${index}`, subagent_type: "general-purpose" },
}));

function isChild({ body }: RecordedRequest): boolean {
  return JSON.stringify((body as { messages: readonly unknown[] }).messages[0]).includes("CHILD:");
}

function longAnswers(bill: ReturnType<typeof createBill>): ReplyFunction {
  return (request, { turn }) => {
    const isLong = isChild(request);
    const { isCut, ...usage } = bill.charge(request, isLong ? 30_000 : 50);
    const content = isLong || turn > 1 ? "Done." : tasks;
    return { content, usage, pacing: { firstByteMs: 5 }, ...(isCut ? { stopReason: "max_tokens" as const } : {}) };
  };
}

describe("a limit on 20 agents with responses of 30,000 tokens", () => {
  it.each([
    ["money", ["--max-cost", "0.50"], (bill: ReturnType<typeof createBill>) => bill.usd() / 0.5],
    ["tokens", ["--max-tokens", "200000"], (bill: ReturnType<typeof createBill>) => bill.tokens() / 200_000],
  ] as const)("is never exceeded, and most of it can be used: %s", async (_, limit, share) => {
    const bill = createBill();
    const server = await serve(longAnswers(bill));
    const words = ["-p", "MAIN: go", ...model, ...limit, "--output-format", "json"];
    const run = await retinue(words, { ...createPlace(), server });
    expect(run.code).toBe(3);
    expect(share(bill)).toBeLessThanOrEqual(1);
    expect(share(bill)).toBeGreaterThan(0.8);
    expect(resultOf(run)).toMatchObject({
      outcome: "incomplete",
      reason: "budget",
      total_cost_usd: expect.closeTo(bill.usd(), 6),
    });
  });
});

describe("a limit on a session that is killed five times", () => {
  it("includes the requests that were in progress", async () => {
    const bill = createBill();
    const place = createPlace();
    mkdirSync(place.home);
    writeFileSync(join(place.home, "settings.json"), '{"providers": {"anthropic": {"maxOutputTokens": 1000}}}');
    let onHanging: (() => void) | undefined;
    const server = await serve((request, { turn }) => {
      const { isCut: _, ...usage } = bill.charge(request, 1_000);
      if (!isChild(request)) return { content: turn > 1 ? "Done." : tasks.slice(0, 3), usage };
      onHanging?.();
      return onHanging ? { content: "Never sent.", fault: { kind: "hang" } } : { content: "Seen.", usage };
    });
    const command = (...words: readonly string[]) => [...words, ...model, "--max-cost", "0.30", "--output-format"];
    let session = "";
    let kills = 0;
    for (let count = 0; count < 5; count += 1) {
      const words = count === 0 ? ["-p", "MAIN: go"] : ["-p", "MAIN: continue", "--resume", session];
      const child = startRetinue([...command(...words), "stream-json"], { ...place, server });
      // When the budget is nearly used up, fewer than three requests are in progress at once.
      let timer: NodeJS.Timeout | undefined;
      onHanging = () => {
        clearTimeout(timer);
        timer = setTimeout(() => child.kill("SIGKILL"), 100);
      };
      child.stdin.end();
      const run = await ended(child);
      session ||= /"session_id":"([^"]+)"/.exec(run.stdout)?.[1] ?? "";
      if (run.signal === "SIGKILL") kills += 1;
      expect(bill.usd()).toBeLessThanOrEqual(0.3);
    }
    expect(kills).toBeGreaterThanOrEqual(2);
    onHanging = undefined;
    const after = await retinue([...command("-p", "MAIN: more", "--resume", session), "json"], { ...place, server });
    expect(bill.usd()).toBeLessThanOrEqual(0.3);
    expect(after.code).toBe(3);
    expect(after.stderr).toContain("estimated for requests whose responses were lost");
  });
});

/** Dollars per million tokens of claude-haiku-5-5: each price for prompts of up to 100,000 tokens, then for longer ones. */
const haiku = { input: [0.1, 0.5], cacheRead: [0.01, 0.05], cacheWrite: [0.125, 0.625], output: [0.5, 2.5] } as const;

/** Computes what the provider would charge for the requests that the server answered, from what the server counted. */
function haikuBill(server: ApiServer, outputs: ReadonlyMap<number, number>) {
  const prompts = server.requests.flatMap(({ cache, ordinal }) => (cache ? [{ ...cache, ordinal }] : []));
  const usd = prompts.reduce((sum, { prompt, read, written, ordinal }) => {
    const band = prompt > 100_000 ? 1 : 0;
    const input = (prompt - read - written) * haiku.input[band];
    const cached = read * haiku.cacheRead[band] + written * haiku.cacheWrite[band];
    return sum + (input + cached + (outputs.get(ordinal) ?? 0) * haiku.output[band]) / 1e6;
  }, 0);
  return { usd, longest: Math.max(...prompts.map(({ prompt }) => prompt)) };
}

describe("a limit on a model that charges more for long prompts", () => {
  const command = (...words: readonly string[]) => [...words, "--model", "small", "--fork", "on"];
  const limit = (usd: number) => ["--max-cost", String(usd), "--output-format", "json"];
  const long = { input: "All the words of a long story. ".repeat(14_000) };
  const forks = Array.from({ length: 4 }, (_, index) => ({
    tool: "Task",
    input: { description: `part ${index}`, prompt: `FORK: part ${index}` },
  }));

  async function story() {
    const outputs = new Map<number, number>();
    const server = await serve((request, { turn, ordinal }) => {
      const { max_tokens: longest, messages } = request.body as { max_tokens: number; messages: readonly unknown[] };
      const isFork = JSON.stringify(messages.at(-1)).includes("FORK:");
      const outputTokens = Math.min(isFork ? 20_000 : 4_000, longest);
      outputs.set(ordinal, outputTokens);
      if (isFork) return { content: "Seen.", usage: { outputTokens } };
      const list = { tool: "Read", input: { file_path: "notes.txt", offset: ordinal + 1 } };
      return { content: turn > 20 ? "Done." : turn === 2 ? forks : [list], usage: { outputTokens } };
    });
    return { server, place: createPlace(), bill: () => haikuBill(server, outputs) };
  }

  it("is not exceeded by an agent, its forks, or a resumed session", async () => {
    const { server, place, bill } = await story();
    const first = await retinue([...command("-p", "MAIN: go"), ...limit(0.4)], { ...place, server, ...long });
    expect(bill().longest).toBeGreaterThan(100_000);
    expect(bill().usd).toBeLessThanOrEqual(0.4);
    expect(bill().usd).toBeGreaterThan(0.3);
    expect(first.code).toBe(3);
    expect(resultOf(first)).toMatchObject({
      reason: "budget",
      total_cost_usd: expect.closeTo(bill().usd, 6),
      modelUsage: { "claude-haiku-5-5": { costUSD: expect.closeTo(bill().usd, 6) } },
    });
    const { session_id: session } = resultOf(first);
    const more = [...command("-p", "MAIN: more", "--resume", session), ...limit(0.5)];
    const spent = bill().usd;
    const second = await retinue(more, { ...place, server });
    expect(bill().usd).toBeGreaterThan(spent);
    expect(bill().usd).toBeLessThanOrEqual(0.5);
    expect(second.code).toBe(3);
    expect(resultOf(second)).toMatchObject({ total_cost_usd: expect.closeTo(bill().usd - spent, 6) });
    const report = await retinue(["cache", "report", session, "--json"], place);
    expect(JSON.parse(report.stdout)).toMatchObject({ total: { usd: { spent: expect.closeTo(bill().usd, 6) } } });
    const shown = await retinue(["sessions", "show", session], place);
    expect(shown.stdout).toContain(`$${bill().usd.toFixed(4)}`);
  });

  it("that has no room for a long prompt refuses it", async () => {
    const { server, place } = await story();
    const run = await retinue([...command("-p", "MAIN: go"), ...limit(0.05)], { ...place, server, ...long });
    expect(run.code).toBe(3);
    expect(run.stderr).toMatch(/the next request needs \$0\.1/);
    expect(server.requests).toHaveLength(0);
  });
});
