import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { writeErrors } from "../torture/write-errors.ts";

const hasStrace = spawnSync("strace", ["-V"]).status === 0;
if (!hasStrace) console.warn("SKIPPED: write errors, because strace is not installed.");

it.runIf(hasStrace)(
  "at any write, a run waits if the disk is full, and ends with a message if the disk fails",
  async () => {
    const report = await writeErrors({ seed: 1, count: 4, until: Number.POSITIVE_INFINITY });
    expect(report).toMatchObject({ passed: 4, run: 4, firstFailure: undefined });
    expect(report.work["waits"]).toBeGreaterThan(0);
    expect(report.work["ends"]).toBeGreaterThan(0);
  },
  60_000,
);
