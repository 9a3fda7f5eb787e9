import { expect, it } from "vitest";
import { abortFamilyQuickly, familyWays } from "../torture/abort.ts";

it("no process of any agent survives, no matter how the main agent ends", async () => {
  const report = await abortFamilyQuickly({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: familyWays.length, run: familyWays.length, firstFailure: undefined });
  expect(report.work["processes"]).toBeGreaterThanOrEqual(4 * familyWays.length);
}, 60_000);
