import { expect, it } from "vitest";
import { streamSplit } from "../torture/stream-split.ts";

it("the transcript is the same no matter how the bytes of the stream are split", async () => {
  const report = await streamSplit({ seed: 1, count: 2, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 2, run: 2, firstFailure: undefined });
  expect(report.work["lines"]).toBeGreaterThan(20);
});
