import { expect, it } from "vitest";
import { abortQuickly, ways } from "../torture/abort.ts";

it("a run leaves no process behind, no matter how it ends or what it started", async () => {
  const report = await abortQuickly({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: ways.length, run: ways.length, firstFailure: undefined });
  expect(report.work["processes"]).toBeGreaterThan(50);
}, 90_000);
