import { expect, it } from "vitest";
import { steering } from "../torture/steering.ts";

it("a session that is killed and resumed loses and repeats no prompt, command or approval", async () => {
  // With this seed, the process is first killed only after most of its calls, so that some are approved on any machine.
  const report = await steering({ seed: 13, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 1, run: 1, firstFailure: undefined });
  expect(report.work["kills"]).toBeGreaterThanOrEqual(1);
  expect(report.work["prompts"]).toBeGreaterThanOrEqual(1);
  expect(report.work["allowed"]).toBeGreaterThanOrEqual(2);
});
