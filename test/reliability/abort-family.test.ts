import { expect, it } from "vitest";
import { abortFamilyQuickly } from "../torture/abort.ts";

it("no process of any agent survives, no matter how the main agent ends", async () => {
  const report = await abortFamilyQuickly({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 2, run: 2, firstFailure: undefined });
  expect(report.work["processes"]).toBeGreaterThanOrEqual(8);
}, 60_000);
