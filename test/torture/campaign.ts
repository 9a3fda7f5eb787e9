export interface CampaignOptions {
  readonly seed: number;
  readonly count: number;
  /** No run begins after this moment of `performance.now()`. */
  readonly until: number;
}

export interface CampaignReport {
  readonly passed: number;
  readonly run: number;
  /** What went wrong first, with its seed. */
  readonly firstFailure: string | undefined;
  /** What was done, so that a campaign in which nothing happened can't look like one that passed. */
  readonly work: Readonly<Record<string, number>>;
  /** What could not be run here, and why. */
  readonly skipped?: readonly string[];
}

export interface Verdict {
  readonly violations: readonly string[];
  readonly work: Readonly<Record<string, number>>;
}

export type Campaign = (options: CampaignOptions) => Promise<CampaignReport>;

/** One run for each seed, a few at a time. A run that throws has failed. */
export async function runSeeds(
  { seed, count, until }: CampaignOptions,
  one: (seed: number) => Promise<Verdict>,
  { workers = 2 }: { workers?: number } = {},
): Promise<CampaignReport> {
  const work: Record<string, number> = {};
  const failures = new Map<number, string>();
  let next = 0;
  let run = 0;
  const worker = async (): Promise<void> => {
    while (next < count && performance.now() < until) {
      const own = seed + next++;
      const { violations, work: done } = await one(own).catch(asVerdict);
      run += 1;
      if (violations.length > 0) failures.set(own, violations.slice(0, 5).join("; "));
      for (const [name, amount] of Object.entries(done)) work[name] = (work[name] ?? 0) + amount;
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, count) }, worker));
  const [first, ...others] = [...failures.keys()].sort((left, right) => left - right);
  const also = others.length > 0 ? ` (also seeds ${others.slice(0, 20).join(", ")})` : "";
  const firstFailure = first === undefined ? undefined : `seed ${first}: ${failures.get(first)}${also}`;
  return { passed: run - failures.size, run, firstFailure, work };
}

function asVerdict(error: unknown): Verdict {
  return { violations: [error instanceof Error ? (error.stack ?? error.message) : String(error)], work: {} };
}

/** A list of named cases instead of seeds; the name stands in the failure. */
export function runCases<Case>(
  { until }: Pick<CampaignOptions, "until">,
  cases: readonly Case[],
  one: (each: Case) => Promise<Verdict>,
): Promise<CampaignReport> {
  return runSeeds({ seed: 0, count: cases.length, until }, (index) => one(cases[index] as Case));
}
