import { expect, it } from "vitest";
import { twoProcesses } from "../torture/two-processes.ts";

it("a session has only one owner at a time, and other processes are told which process that is", async () => {
  const report = await twoProcesses({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 1, run: 1, firstFailure: undefined });
  expect(report.work["refusals"]).toBeGreaterThanOrEqual(1);
}, 60_000);
