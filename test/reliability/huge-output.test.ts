import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { hugeOutputsTogether } from "../torture/huge-output.ts";

const hasProc = existsSync("/proc/self/status");
if (!hasProc)
  console.warn("SKIPPED: huge output, because there is no /proc to read the memory usage of a process from.");

it.runIf(hasProc)(
  "huge output is truncated with a note, within 100 MB of memory",
  async () => {
    const report = await hugeOutputsTogether({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
    expect(report).toMatchObject({ firstFailure: undefined, work: { floods: 7 } });
  },
  90_000,
);
