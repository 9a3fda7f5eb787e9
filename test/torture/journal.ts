import { killSessions } from "../../src/transcript/kill-sessions.test-support.ts";

export interface TortureReport {
  readonly passed: number;
  readonly run: number;
  /** What went wrong first, with its seed. */
  readonly firstFailure: string | undefined;
  /** Lines that were acknowledged before a kill and looked for after it: proof that work was done. */
  readonly work: number;
}

/** Kills writers of transcripts at random points; every acknowledged line must be there afterwards. */
export async function tortureJournal({ seed, count }: { seed: number; count: number }): Promise<TortureReport> {
  const { kills, acknowledged, failedRuns, violations } = await killSessions({ seed, count });
  return { passed: kills - failedRuns, run: kills, firstFailure: violations[0], work: acknowledged };
}
