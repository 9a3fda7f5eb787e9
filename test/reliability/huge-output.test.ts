import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { needs } from "../../src/testing/needs.test-support.ts";
import { hugeOutputsTogether } from "../torture/huge-output.ts";

const hasProc = existsSync("/proc/self/status");

it("huge output is truncated with a note, within 100 MB of memory", {
  ...needs("/proc", hasProc),
  timeout: 90_000,
}, async () => {
  const report = await hugeOutputsTogether({ seed: 1, count: 1, until: Number.POSITIVE_INFINITY });
  expect(report).toMatchObject({ firstFailure: undefined, work: { floods: 7 } });
});
