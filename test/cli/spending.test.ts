import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RecordedRequest, Reply, ReplyFunction } from "../../src/testing/index.ts";
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
