import { expect, it } from "vitest";
import { twoProcesses } from "../torture/two-processes.ts";

it("has one owner of a session at a time, and tells the others who it is", async () => {
  const report = await twoProcesses({ seed: 1, count: 2, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 2, run: 2, firstFailure: undefined });
  expect(report.work["refusals"]).toBeGreaterThanOrEqual(2);
}, 60_000);
