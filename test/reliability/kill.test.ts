import { expect, it } from "vitest";
import { kill } from "../torture/kill.ts";

it("loses nothing and repeats nothing when it is killed and resumed", async () => {
  const report = await kill({ seed: 1, count: 6, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 6, run: 6, firstFailure: undefined });
  expect(report.work["kills"]).toBeGreaterThanOrEqual(6);
  expect(report.work["effects"]).toBeGreaterThanOrEqual(12);
  expect(report.work["denied"]).toBeGreaterThanOrEqual(6);
}, 60_000);
