import { expect, it } from "vitest";
import { killFamily } from "../torture/kill-family.ts";

it("loses no agent and repeats none of its calls when the process is killed and resumed", async () => {
  const report = await killFamily({ seed: 1, count: 3, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 3, run: 3, firstFailure: undefined });
  expect(report.work["kills"]).toBeGreaterThanOrEqual(3);
  expect(report.work["effects"]).toBeGreaterThanOrEqual(8);
}, 60_000);
