import { expect, it } from "vitest";
import { sameBytes } from "../torture/same-bytes.ts";

it("another process creates the same request from the session's files", async () => {
  const report = await sameBytes({ seed: 1, count: 5, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ passed: 5, run: 5, firstFailure: undefined });
  expect(report.work["bytes"]).toBeGreaterThan(5_000);
}, 60_000);
