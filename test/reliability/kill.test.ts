import { expect, it } from "vitest";
import { kill } from "../torture/kill.ts";

it("a session that is killed and resumed loses nothing and repeats nothing", async () => {
  const report = await kill({ seed: 1, count: 3, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 3, run: 3, firstFailure: undefined });
  expect(report.work["kills"]).toBeGreaterThanOrEqual(3);
  expect(report.work["effects"]).toBeGreaterThanOrEqual(6);
  expect(report.work["denied"]).toBeGreaterThanOrEqual(3);
}, 60_000);
