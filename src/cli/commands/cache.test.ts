import { expect, it } from "vitest";
import type { ExplainedRequest } from "../../app/index.ts";
import { renderExplained, renderReport } from "./cache.ts";

const request: ExplainedRequest = {
  agentId: "main",
  agentType: "main",
  model: "m",
  number: 1,
  sentAt: 0,
  isSummary: false,
  isChanged: false,
  tokens: { input: 2_000, read: 0, written: 2_000, written1h: 0, plain: 0, ideal: 2_000, missed: 2_000 },
};

it.each<[Partial<ExplainedRequest>, string]>([
  [{ reason: "expired", keptFor: "5m" }, "2,000 tokens missed: no request had used them for more than five minutes."],
  [{ reason: "expired", keptFor: "1h" }, "2,000 tokens missed: no request had used them for more than an hour."],
  [
    { reason: "lifetime", keptFor: "1h" },
    "they were written to be kept for an hour, and this request asks for a different lifetime.",
  ],
  [
    { broken: { dimension: "messages", firstDifference: 5, tokens: 9, change: "compaction", before: "a", after: "b" } },
    "The conversation was compacted.\n      The messages differ from byte 5 on",
  ],
  [{ belowMinimum: 4_096 }, "Not cached: m caches nothing below 4,096 tokens."],
  [{ lifetimeChange: { before: "1h", after: "5m" } }, "The cache lifetime changed from an hour to five minutes."],
])("explains why nothing was read: %j", (more, expected) => {
  expect(renderExplained([{ ...request, ...more }])).toContain(expected);
});

it("gives a model's minimum as the reason in one sentence, with advice", () => {
  const usage = { inputTokens: 9_000, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 1 };
  const baseTokens = { spent: 9_000, withoutCache: 9_000, ideal: 9_000 };
  const total = { requests: 3, usage, idealReadTokens: 0, baseTokens };
  const belowMinimum = [{ model: "m", minimumTokens: 4_096, requests: 3, tooShort: 2 }];
  expect(renderReport({ sessionId: "s1", total, agents: [], belowMinimum }).trimEnd().split("\n").at(-1)).toBe(
    "m caches nothing below 4,096 tokens, so 2 of 3 requests to it could not be cached. Use a model with a smaller minimum, or give more work to fewer agents.",
  );
});

it("renders lists instead of a table that is too wide", () => {
  const usage = { inputTokens: 9_000, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 1 };
  const total = { requests: 3, usage, idealReadTokens: 0, baseTokens: { spent: 1, withoutCache: 1, ideal: 1 } };
  const report = { sessionId: "s1", total, agents: [], belowMinimum: [] };
  expect(renderReport(report, 40)).toMatch(/^s1\n {2}requests {5}3\n {2}input {8}9,000\n/);
  expect(renderReport(report, 120)).toMatch(/^ +REQUESTS/);
});
