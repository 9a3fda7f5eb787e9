import { expect, it } from "vitest";
import type { ExplainedRequest } from "../../app/index.ts";
import { renderExplained } from "./cache.ts";

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
  [{ reason: "expired", keptFor: "5m" }, "2,000 tokens missed: nobody had asked for them for more than five minutes."],
  [{ reason: "expired", keptFor: "1h" }, "2,000 tokens missed: nobody had asked for them for more than an hour."],
  [{ reason: "lifetime", keptFor: "1h" }, "they were written to be kept for an hour, and this request asks otherwise."],
  [
    { lifetimeChange: { before: "1h", after: "5m" } },
    "From here on the provider is asked to keep it for five minutes, before for an hour.",
  ],
])("says how long a cache was kept: %j", (more, expected) => {
  expect(renderExplained([{ ...request, ...more }])).toContain(expected);
});
