import { expect, it } from "vitest";
import { needs } from "../../src/testing/needs.test-support.ts";
import { writeErrors } from "../torture/write-errors.ts";

it(
  "at any write, a run waits if the disk is full, and ends with a message if the disk fails",
  needs("strace"),
  async () => {
    const report = await writeErrors({ seed: 1, count: 4, until: Number.POSITIVE_INFINITY });
    expect(report).toMatchObject({ passed: 4, run: 4, firstFailure: undefined });
    expect(report.work["waits"]).toBeGreaterThan(0);
    expect(report.work["ends"]).toBeGreaterThan(0);
  },
);
