import { expect, it } from "vitest";
import { wakeUpsQuickly } from "../torture/wake-ups.ts";

it("every background agent is reported exactly once, whenever it ends", async () => {
  const report = await wakeUpsQuickly({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 1, run: 1, firstFailure: undefined });
  expect(report.work["told"]).toBeGreaterThanOrEqual(20);
  expect(report.work["told"]).toBe(report.work["launched"]);
  expect(report.work["lives"]).toBeGreaterThanOrEqual(2);
}, 60_000);
