import { killSessions } from "../../src/transcript/kill-sessions.test-support.ts";
import type { Campaign } from "./campaign.ts";

/** Kills writers of transcripts at random points; every acknowledged line must be there afterwards. */
export const journal: Campaign = async ({ seed, count }) => {
  const { kills, acknowledged, torn, failedRuns, violations } = await killSessions({ seed, count });
  const work = { "acknowledged lines": acknowledged, "torn tails": torn };
  return { passed: kills - failedRuns, run: kills, firstFailure: violations[0], work };
};
