import { expect, it } from "vitest";
import { killFamily } from "../torture/kill-family.ts";

it("a session that is killed and resumed loses no agent and repeats no call", async () => {
  const report = await killFamily({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 1, run: 1, firstFailure: undefined });
  expect(report.work["kills"]).toBeGreaterThanOrEqual(1);
  expect(report.work["effects"]).toBeGreaterThanOrEqual(3);
}, 60_000);
