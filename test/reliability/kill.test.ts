import { expect, it } from "vitest";
import { kill } from "../torture/kill.ts";

it("a session that is killed and resumed loses nothing and repeats nothing", async () => {
  const report = await kill({ seed: 1, count: 2, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 2, run: 2, firstFailure: undefined });
  expect(report.work["kills"]).toBeGreaterThanOrEqual(2);
  expect(report.work["effects"]).toBeGreaterThanOrEqual(4);
  expect(report.work["denied"]).toBeGreaterThanOrEqual(2);
}, 60_000);
