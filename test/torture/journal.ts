import { killSessions } from "../../src/transcript/journal/kill-sessions.test-support.ts";
import type { Campaign } from "./campaign.ts";

const atOnce = 50;

/** Kills processes that write transcripts, at random points. All acknowledged lines must exist afterwards. */
export const journal: Campaign = async ({ seed, count, until }) => {
  const work = { "acknowledged lines": 0, "torn tails": 0 };
  let [passed, run] = [0, 0];
  let firstFailure: string | undefined;
  while (run < count && performance.now() < until) {
    const report = await killSessions({ seed: seed + run, count: Math.min(atOnce, count - run) });
    run += report.kills;
    passed += report.kills - report.failedRuns;
    firstFailure ??= report.violations[0];
    work["acknowledged lines"] += report.acknowledged;
    work["torn tails"] += report.torn;
  }
  return { passed, run, firstFailure, work };
};
