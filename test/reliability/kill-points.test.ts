import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { fewKillPoints } from "../torture/kill-points.ts";

const hasStrace = spawnSync("strace", ["-V"]).status === 0;
if (!hasStrace) console.warn("SKIPPED: kill points, because strace is not installed.");

it.runIf(hasStrace)(
  "a process that dies while changing its files loses nothing",
  // A run under strace once hung on a busy machine. The cause is unknown.
  { retry: 1, timeout: 40_000 },
  async () => {
    const report = await fewKillPoints({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
    expect(report).toMatchObject({ passed: 4, run: 4, firstFailure: undefined });
    expect(report.work).toMatchObject({ "kills at link": 1, "kills at write": 2, "kills at fdatasync": 1 });
  },
);
