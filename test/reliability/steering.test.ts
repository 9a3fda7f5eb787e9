import { expect, it } from "vitest";
import { steering } from "../torture/steering.ts";

it("a session that is killed and resumed loses and repeats no prompt, command or approval", async () => {
  const report = await steering({ seed: 1, count: 2, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 2, run: 2, firstFailure: undefined });
  expect(report.work["kills"]).toBeGreaterThanOrEqual(1);
  expect(report.work["prompts"]).toBeGreaterThanOrEqual(1);
  expect(report.work["allowed"]).toBeGreaterThanOrEqual(4);
}, 60_000);
